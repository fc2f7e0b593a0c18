# The KRM function image: reads a ResourceList from standard input, writes it to
# standard output. Needs no network and no writable file system.
#
#     docker buildx build --platform linux/amd64,linux/arm64 -t preadmit .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w" -o /preadmit ./krmfn/preadmit

FROM scratch
LABEL org.opencontainers.image.title="preadmit" \
      org.opencontainers.image.description="Runs a Kubernetes cluster's mutating policies on manifests" \
      org.opencontainers.image.source="https://github.com/preadmit/preadmit" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /preadmit /usr/local/bin/preadmit
USER 65534:65534
ENTRYPOINT ["/usr/local/bin/preadmit"]
CMD ["fn"]
