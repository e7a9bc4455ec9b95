# docker build -f deploy/docker/edgehub.Dockerfile --build-arg VERSION=$(git describe --tags) -t tombolo/edgehub .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags "-s -w -X main.version=$VERSION" -o /out/edgehub ./cmd/edgehub
RUN mkdir -p /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /out/data /var/lib/tombolo
COPY --from=build /out/edgehub /usr/local/bin/edgehub
USER 65532:65532
VOLUME /var/lib/tombolo
EXPOSE 10550 10551
ENTRYPOINT ["/usr/local/bin/edgehub"]
