package kube

import (
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// LogTo sends what client-go logs without a context (certificate rotation, exec credentials) to l. It is for main to
// call, once: klog is global to the process. Reflectors log to Config.Logger in any case.
func LogTo(l *slog.Logger) { klog.SetSlogLogger(l) }

func newKlog(l *slog.Logger) klog.Logger { return logr.FromSlogHandler(l.Handler()) }
