# syntax=docker/dockerfile:1

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# One static file: no libc, no paths of this stage, and the time zones that the base may lack.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -tags timetzdata -ldflags "-s -w" -o /out/countersign . \
    && mkdir -p /out/data

# Certificates and a user, nothing else: no shell, no package manager.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/countersign /countersign
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532

# What has to be given at run time: SLACK_BOT_TOKEN, SLACK_APP_TOKEN (or, in HTTP mode, SLACK_SIGNING_SECRET) and
# OPENAI_API_KEY, the variables that the agents file uses, and the agents file itself:
#   docker run -d --name countersign --env-file countersign.env \
#     -v ./countersign.yaml:/etc/countersign/countersign.yaml:ro -v countersign:/data countersign
# Commands work in the running container:
#   docker exec countersign /countersign approvals list
ENV COUNTERSIGN_AGENTS=/etc/countersign/countersign.yaml \
    COUNTERSIGN_STORE=bolt:/data/countersign.db \
    COUNTERSIGN_LISTEN=0.0.0.0:8080 \
    COUNTERSIGN_LOG_FORMAT=json

# The store and the socket of the commands.
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=4s --start-period=10s --retries=3 CMD ["/countersign", "healthcheck"]
ENTRYPOINT ["/countersign"]
CMD ["run"]
