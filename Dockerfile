# The image of ypcrawl: the program, CA roots, time zones and nothing else. Its files are made by
# `make image`, which needs no docker and also writes the same image for `docker load`.
#   make image PLATFORMS=linux/amd64 && docker build -t ypcrawl .
#   docker run --rm -v ypcrawl:/data ypcrawl run --source demo --states WY
FROM scratch
ARG TARGETARCH
ADD dist/image/rootfs_${TARGETARCH}.tar /
ENV HOME=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
ENTRYPOINT ["/usr/bin/ypcrawl"]
