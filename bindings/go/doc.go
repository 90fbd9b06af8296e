// Package rde is the Go client of rdma-engine: it reads objects of a SeaweedFS store straight into memory that it shares with
// an engine on this host. No cgo.
//
//	client, err := rde.Attach(ctx, rde.Options{})
//	if err != nil { … }
//	defer client.Close()
//	id, err := rde.ParseFileID("3,01637037d6")
//	object, err := client.ReadObject(ctx, 0, id)
//	if err != nil { … }
//	defer object.Close()
//	_, err = io.Copy(os.Stdout, object)
//
// # Reads
//
// Client.Read is one request: stored bytes, lent as a Buffer of the shared segment, without a copy. Client.ReadObject and
// Client.ReadRange give what a reader of the store sees: unpacked, with chunk manifests joined, however large.
//
// # Time
//
// The deadline of a context goes to the engine with the request. When the context ends the caller is answered at once, also
// where the engine is frozen; without a deadline an operation may take 30 s. A buffer that the engine might still write stays
// out of use until the engine says that it is free.
//
// # The engine's death
//
// A Client belongs to one life of an engine. When that ends, every call fails with engine_gone, Done is closed, and the program
// attaches anew. Buffers that are lent stay good until they are released.
//
// # Errors
//
// Every error is an *Error, or wraps its Status: errors.Is(err, rde.StatusObjectNotFound). Status.Retry says whether another
// try, or another path to the object, may help.
//
// # Goroutines
//
// Any number of goroutines may use a Client. Who waits polls for Options.SpinFor, taking answers for others too, and then
// blocks; one goroutine, which holds no thread, waits for all that are blocked.
package rde
