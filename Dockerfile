# Everything that make demo, make test and .ci/run need: docker build --tag lit-video . && docker run --rm lit-video
FROM python:3.11-slim

RUN apt-get update -qq \
    && apt-get install -qq -y --no-install-recommends make g++ git chromium chromium-driver munge slurm-wlm \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /lit_video
COPY . .
RUN make setup

ENV PATH=/lit_video/.venv/bin:$PATH
CMD ["make", "demo"]
