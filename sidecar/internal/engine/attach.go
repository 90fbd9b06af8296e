package engine

import (
	"context"
	"log/slog"
	"math"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
)

// AttachTo gives the function that attaches to a real engine at a socket.
func AttachTo(socket string, logger *slog.Logger) func(context.Context) (Client, error) {
	return func(ctx context.Context) (Client, error) {
		client, err := rde.Attach(ctx, rde.Options{Socket: socket, Name: "rdma-sidecar", Logger: logger})
		if err != nil {
			return nil, err
		}
		attached := &attachedClient{Client: client, maxRead: client.MaxRead()}
		known, err := attached.Capabilities(ctx)
		if err != nil {
			_ = client.Close()
			return nil, err
		}
		if known.MaxTransfer > 0 {
			attached.maxRead = int(min(uint64(attached.maxRead), known.MaxTransfer))
		}
		return attached, nil
	}
}

// attachedClient makes an rde.Client a Client.
type attachedClient struct {
	*rde.Client
	maxRead int
}

func (c *attachedClient) MaxRead() int { return c.maxRead }

func (c *attachedClient) Connect(ctx context.Context, hostPort string) (Peer, error) {
	peer, err := c.Client.Connect(ctx, hostPort)
	return Peer(peer), err
}

func (c *attachedClient) Ping(ctx context.Context) (Ping, error) {
	result, err := c.Client.Ping(ctx)
	return Ping{EngineTime: result.EngineTime, RTT: result.RTT}, err
}

func (c *attachedClient) Capabilities(ctx context.Context) (Capabilities, error) {
	known, err := c.Client.Capabilities(ctx)
	return Capabilities{
		Version: known.Version, Transport: known.Transport, Device: known.Device, PortGID: known.PortGID, PortLID: known.PortLID,
		VendorID: known.VendorID, MaxTransfer: known.MaxTransfer, MaxSessions: known.MaxSessions, ActiveSessions: known.ActiveSessions,
		Peers: known.Peers, Volumes: known.Volumes, RealRDMA: known.RealRDMA,
	}, err
}

func (c *attachedClient) Stat(ctx context.Context, peer Peer, id rde.FileID) (Stat, error) {
	stat, err := c.Client.Stat(ctx, rde.Peer(peer), id)
	made := Stat{StoredSize: stat.StoredSize, ETag: stat.ETag, Gzip: stat.Gzip, Manifest: stat.Manifest, Mime: stat.Mime, Name: stat.Name}
	if stat.LastModified > 0 && stat.LastModified < math.MaxInt32<<8 {
		made.LastModified = time.Unix(int64(stat.LastModified), 0).UTC()
	}
	return made, err
}

func (c *attachedClient) Read(ctx context.Context, peer Peer, id rde.FileID, offset uint64, length int) (Buffer, ReadInfo, error) {
	buffer, info, err := c.Client.Read(ctx, rde.Peer(peer), id, offset, length)
	if err != nil {
		return nil, ReadInfo{}, err // not a nil *rde.Buffer in an interface
	}
	return buffer, ReadInfo(info), nil
}

func (c *attachedClient) Object(ctx context.Context, peer Peer, id rde.FileID, offset, length uint64) (Object, error) {
	opened, err := c.ReadRange(ctx, rde.Peer(peer), id, offset, length)
	if err != nil {
		return nil, err
	}
	return attachedObject{opened}, nil
}

// attachedObject makes an rde.Object an Object.
type attachedObject struct{ *rde.Object }

func (o attachedObject) Unverified() bool { return o.Info().Unverified }
