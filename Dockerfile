# Images of preadmit: static, without a shell, for an unprivileged user. preadmit needs no network
# and no writable file system.
#
# The KRM function, which reads a ResourceList from standard input:
#
#     docker buildx build --platform linux/amd64,linux/arm64 -t preadmit .
#
# The sidecar of Argo CD's repo-server, with kustomize and Helm (see examples/argocd):
#
#     docker buildx build --target cmp -t preadmit-cmp .
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ENV CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY engine engine
COPY internal internal
COPY krmfn krmfn
RUN go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/preadmit ./krmfn/preadmit

# The same versions as in the tests.
FROM build AS renderers
COPY testdata/clients testdata/clients
RUN go -C testdata/clients/kustomize build -trimpath -ldflags "-s -w" -o /out/kustomize sigs.k8s.io/kustomize/kustomize/v5
RUN go -C testdata/clients/helm4 build -trimpath -ldflags "-s -w" -o /out/helm helm.sh/helm/v4/cmd/helm

FROM scratch AS cmp
ARG VERSION=dev
LABEL org.opencontainers.image.title="preadmit-cmp" \
      org.opencontainers.image.description="A config management plugin of Argo CD that runs a cluster's mutating policies" \
      org.opencontainers.image.source="https://github.com/preadmit/preadmit" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=renderers /out/ /usr/local/bin/
USER 999:999
# The repo-server provides this program in a volume.
ENTRYPOINT ["/var/run/argocd/argocd-cmp-server"]

FROM scratch AS function
ARG VERSION=dev
LABEL org.opencontainers.image.title="preadmit" \
      org.opencontainers.image.description="Runs a Kubernetes cluster's mutating policies on manifests" \
      org.opencontainers.image.source="https://github.com/preadmit/preadmit" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/preadmit /usr/local/bin/preadmit
USER 65534:65534
ENTRYPOINT ["/usr/local/bin/preadmit"]
CMD ["fn"]
