package kube

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/source/age"
)

// podStatus is what of a pod decides when a container was restarted last.
type podStatus struct {
	Spec struct {
		InitContainers []struct {
			Name          string `json:"name"`
			RestartPolicy string `json:"restartPolicy"`
		} `json:"initContainers"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
		InitContainerStatuses []containerStatus `json:"initContainerStatuses"`
		ContainerStatuses     []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

// containerStatus is what of a container's status decides that.
type containerStatus struct {
	Name    string `json:"name"`
	Started *bool  `json:"started"`
	State   struct {
		Terminated *struct {
			ExitCode int32 `json:"exitCode"`
		} `json:"terminated"`
	} `json:"state"`
	LastState struct {
		Terminated *struct {
			FinishedAt time.Time `json:"finishedAt"`
		} `json:"terminated"`
	} `json:"lastState"`
}

// restarts is the age in "5 (3m ago)". Only then is the pod decoded.
func restarts(object []byte, text string) (age.Age, bool) {
	count, _, found := strings.Cut(text, " (")
	if !found || !strings.HasSuffix(text, " ago)") {
		return age.Age{}, false
	}
	var p podStatus
	if json.Unmarshal(object, &p) != nil {
		return age.Age{}, false
	}
	last := p.lastRestart()
	return age.Age{Since: last.UTC().Format(time.RFC3339), Format: count + " (%s ago)"}, !last.IsZero()
}

// lastRestart is the time that kube-apiserver prints (printPod): while the pod is being initialized that of its init
// containers up to the one that is not done, else that of its containers and of the init containers that keep running.
func (p *podStatus) lastRestart() time.Time {
	stays := map[string]bool{}
	for _, c := range p.Spec.InitContainers {
		stays[c.Name] = c.RestartPolicy == "Always"
	}
	var all, staying time.Time
	initializing := false
	for i := range p.Status.InitContainerStatuses {
		c := &p.Status.InitContainerStatuses[i]
		all = c.later(all)
		if stays[c.Name] {
			staying = c.later(staying)
		}
		if !c.done(stays[c.Name]) {
			initializing = true
			break
		}
	}
	if initializing && !p.initialized() {
		return all
	}
	last := staying
	for i := range p.Status.ContainerStatuses {
		last = p.Status.ContainerStatuses[i].later(last)
	}
	return last
}

func (p *podStatus) initialized() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Initialized" {
			return c.Status == "True"
		}
	}
	return false
}

// later returns when the container's last run ended, if that is later than t.
func (c *containerStatus) later(t time.Time) time.Time {
	if end := c.LastState.Terminated; end != nil && end.FinishedAt.After(t) {
		return end.FinishedAt
	}
	return t
}

// done tells whether the init container holds up the pod no longer.
func (c *containerStatus) done(stays bool) bool {
	if c.State.Terminated != nil && c.State.Terminated.ExitCode == 0 {
		return true
	}
	return stays && c.Started != nil && *c.Started
}
