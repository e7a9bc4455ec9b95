# docker build -f deploy/docker/cloudhub.Dockerfile --build-arg VERSION=$(git describe --tags) -t tombolo/cloudhub .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags "-s -w -X main.version=$VERSION" -o /out/cloudhub ./cmd/cloudhub

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/cloudhub /usr/local/bin/cloudhub
USER 65532:65532
EXPOSE 7443 8080
ENTRYPOINT ["/usr/local/bin/cloudhub"]
