# The program, CA roots and an empty /data; no shell.
#   docker build -t ypcrawl . && docker run --rm -v ypcrawl:/data ypcrawl run --source demo --states WY
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -tags timetzdata,urfave_cli_no_docs -ldflags '-s -w' -o /root/usr/bin/ypcrawl . && mkdir /root/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /root/usr /usr
COPY --from=build --chown=10001:10001 /root/data /data
ENV HOME=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
ENTRYPOINT ["/usr/bin/ypcrawl"]
