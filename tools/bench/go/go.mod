module github.com/rdma-engine/rdma-engine/tools/bench/go

go 1.26.0

require (
	github.com/rdma-engine/rdma-engine/bindings/go v0.0.0
	golang.org/x/sys v0.50.0
)

replace github.com/rdma-engine/rdma-engine/bindings/go => ../../../bindings/go
