# One small image for every role. A teacher's machine needs Docker alone:
#
#	docker compose up --build
#
# With --target prebuilt it takes bin/twinlog as `make build` left it, and needs no base image at all.

FROM scratch AS runtime
WORKDIR /data
ENTRYPOINT ["/twinlog"]
CMD ["up", "--host", "0.0.0.0"]

FROM runtime AS prebuilt
COPY bin/twinlog /twinlog

FROM node:20-alpine AS page
WORKDIR /source/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN npm ci --no-audit --no-fund
COPY web ./
RUN npm run build

FROM golang:1.26-alpine AS build
WORKDIR /source
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=page /source/web/dist/app web/dist/app
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /twinlog .

FROM runtime
COPY --from=build /twinlog /twinlog
