# docker build -f deploy/docker/tombolo.Dockerfile --build-arg VERSION=$(git describe --tags) -t tombolo/tombolo .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags "-s -w -X main.version=$VERSION" -o /out/tombolo ./cmd/tombolo
# The demo keeps its files in a temporary directory.
RUN mkdir -p /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /out/tmp /tmp
COPY --from=build /out/tombolo /usr/local/bin/tombolo
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/tombolo"]
