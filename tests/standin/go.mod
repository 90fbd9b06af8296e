module github.com/rdma-engine/rdma-engine/tests/standin

go 1.26
