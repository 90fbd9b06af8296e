module github.com/rdma-engine/rdma-engine/tests/integration

go 1.26

require github.com/rdma-engine/rdma-engine/bindings/go v0.0.0

replace github.com/rdma-engine/rdma-engine/bindings/go => ../../bindings/go
