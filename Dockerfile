# A host in a container: `docker build -t segno .`, then
# `docker run -p 7766:7766 -v segno:/var/lib/segno -e SEGNO_TOKEN=… segno`.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /segno
COPY . .
# What is debugged is the host's log and its journals: without line tables the program is a sixth of its size.
RUN CARGO_PROFILE_RELEASE_DEBUG=none CARGO_PROFILE_RELEASE_STRIP=true cargo build --release --locked

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 7766 --home-dir /var/lib/segno --create-home segno
COPY --from=build /segno/target/release/segno /usr/local/bin/segno
USER segno
VOLUME /var/lib/segno
EXPOSE 7766
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["segno", "ready"]
# SIGTERM drains: work that runs gets its time to end.
ENTRYPOINT ["segno"]
CMD ["serve", "--data", "/var/lib/segno", "--listen", "0.0.0.0:7766"]
