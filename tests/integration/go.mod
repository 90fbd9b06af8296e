module github.com/rdma-engine/rdma-engine/tests/integration

go 1.26.0

require github.com/rdma-engine/rdma-engine/bindings/go v0.0.0

require (
	github.com/rdma-engine/rdma-engine/tests/standin v0.0.0
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/rdma-engine/rdma-engine/bindings/go => ../../bindings/go

replace github.com/rdma-engine/rdma-engine/tests/standin => ../standin
