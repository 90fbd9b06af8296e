module github.com/rdma-engine/rdma-engine/bindings/go

go 1.26
