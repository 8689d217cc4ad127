package faultfs

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// root is the directory.
type root struct {
	fs.Inode
	of *FS
}

// node is a file as the kernel knows it.
type node struct {
	fs.Inode
	of *FS
	e  *file
}

var (
	_ fs.NodeLookuper  = (*root)(nil)
	_ fs.NodeCreater   = (*root)(nil)
	_ fs.NodeUnlinker  = (*root)(nil)
	_ fs.NodeRenamer   = (*root)(nil)
	_ fs.NodeFsyncer   = (*root)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeReader    = (*node)(nil)
	_ fs.NodeWriter    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeAllocater = (*node)(nil)
)

func (r *root) inode(ctx context.Context, e *file, out *fuse.EntryOut) *fs.Inode {
	fill(e, &out.Attr)
	return r.NewInode(ctx, &node{of: r.of, e: e}, fs.StableAttr{Mode: syscall.S_IFREG, Ino: e.number})
}

func fill(e *file, out *fuse.Attr) {
	out.Mode, out.Size, out.Nlink = syscall.S_IFREG|0o600, uint64(len(e.now)), 1
}

// Lookup is part of fs.NodeLookuper.
func (r *root) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	e := r.of.files[name]
	if e == nil {
		return nil, syscall.ENOENT
	}
	return r.inode(ctx, e, out), 0
}

// Create is part of fs.NodeCreater.
func (r *root) Create(
	ctx context.Context, name string, _, _ uint32, out *fuse.EntryOut,
) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.of.off {
		return nil, nil, 0, syscall.EIO
	}
	return r.inode(ctx, r.of.create(name), out), nil, 0, 0
}

// Unlink is part of fs.NodeUnlinker.
func (r *root) Unlink(_ context.Context, name string) syscall.Errno {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	delete(r.of.files, name)
	return 0
}

// Rename is part of fs.NodeRenamer.
func (r *root) Rename(_ context.Context, name string, _ fs.InodeEmbedder, to string, _ uint32) syscall.Errno {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.of.files[name] == nil {
		return syscall.ENOENT
	}
	r.of.files[to] = r.of.files[name]
	delete(r.of.files, name)
	return 0
}

// Fsync is part of fs.NodeFsyncer: names are durable at once.
func (r *root) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno { return 0 }

// Open is part of fs.NodeOpener.
func (n *node) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

// Read is part of fs.NodeReader.
func (n *node) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	if n.of.off {
		return nil, syscall.EIO
	}
	if off >= int64(len(n.e.now)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(append([]byte(nil), n.e.now[off:min(int(off)+len(dest), len(n.e.now))]...)), 0
}

// Write is part of fs.NodeWriter.
func (n *node) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	if errno := n.of.begin(Write); errno != 0 {
		return 0, errno
	}
	n.e.write(data, off)
	return uint32(len(data)), 0
}

// Fsync is part of fs.NodeFsyncer. What was to be synced when it failed is not on the disk, and no later sync brings it
// there, as it can be with Linux.
func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	if errno := n.of.begin(Sync); errno != 0 {
		n.e.forget()
		return errno
	}
	n.e.sync()
	return 0
}

// Getattr is part of fs.NodeGetattrer.
func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	fill(n.e, &out.Attr)
	return 0
}

// Setattr is part of fs.NodeSetattrer: it changes sizes.
func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	if size, ok := in.GetSize(); ok {
		if errno := n.of.begin(Write); errno != 0 {
			return errno
		}
		n.e.resize(int(size))
	}
	fill(n.e, &out.Attr)
	return 0
}

// Allocate is part of fs.NodeAllocater.
func (n *node) Allocate(_ context.Context, _ fs.FileHandle, off, size uint64, _ uint32) syscall.Errno {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	if errno := n.of.begin(Write); errno != 0 {
		return errno
	}
	if end := int(off + size); end > len(n.e.now) {
		n.e.resize(end)
	}
	return 0
}
