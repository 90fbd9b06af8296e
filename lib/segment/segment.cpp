#include "segment/segment.h"

#include <cstring>

#include "base/atomic.h"
#include "base/crc32c.h"
#include "prim/memory.h"

namespace rde {
namespace {

struct AllocatedFile {
  Descriptor file;
  rde_segment_header header;
};

Result<AllocatedFile> allocate_file(const SegmentRequest& plan, bool huge) {
  auto request = plan;
  request.page_size = huge ? static_cast<std::uint32_t>(prim::kHugePage) : 4096;
  auto header = plan_segment(request);
  if (!header) return header.error();
  auto file = prim::make_memory_file("rde-segment", huge);
  if (!file) return file.error();
  if (auto sized = prim::size_and_seal(file->get(), header->total_size); !sized) return sized.error();
  if (auto allocated = prim::allocate(file->get(), header->total_size, huge); !allocated) return allocated.error();
  return AllocatedFile{std::move(*file), *header};
}

}  // namespace

Segment::Segment(Descriptor file, Mapping mapping, const rde_segment_header& header)
    : file_(std::move(file)), mapping_(std::move(mapping)), view_(mapping_.bytes(), header) {}

Result<std::unique_ptr<Segment>> Segment::create(const SegmentOptions& options) {
  std::string shortage;
  auto made = allocate_file(options.plan, options.hugepages != HugepageMode::off);
  if (!made && made.error().status != Status::invalid_request && options.hugepages == HugepageMode::prefer) {
    shortage = made.error().text;
    made = allocate_file(options.plan, false);
  }
  if (!made && made.error().status == Status::no_hugepages) {
    return Error{Status::no_hugepages, made.error().text + "; --hugepages prefer would take ordinary pages"}.in(
        "segment");
  }
  if (!made) return made.error().in("segment");

  auto header = made->header;
  header.magic = RDE_MAGIC;
  header.endian_mark = RDE_ENDIAN_MARK;
  header.abi_major = RDE_ABI_MAJOR;
  header.abi_minor = RDE_ABI_MINOR;
  header.header_size = sizeof header;
  header.layout_hash = RDE_LAYOUT_HASH;
  header.epoch = options.epoch;
  header.engine_pid = options.engine_pid;
  header.client_pid = options.client_pid;
  const std::span<const std::byte> covered(reinterpret_cast<const std::byte*>(&header),
                                           offsetof(rde_segment_header, header_crc));
  header.header_crc = crc32c(covered);

  auto mapping = Mapping::map(made->file.get(), Mapping::Access::read_write);
  if (!mapping) return mapping.error().in("segment");
  std::unique_ptr<Segment> segment(new Segment(std::move(made->file), std::move(*mapping), header));
  segment->shortage_ = std::move(shortage);
  // fallocate has made every page, so this touch cannot fail: the file was never anywhere else.
  std::memcpy(segment->bytes().data(), &header, sizeof header);
  return segment;
}

Result<void> Segment::harden() {
  const auto size = view_.header().total_size;
  if (auto sealed = prim::seal_future_writes(file()); !sealed) return sealed;
  if (auto allocated = prim::allocate(file(), size, huge()); !allocated) return allocated;
  if (auto faulted = prim::prefault(bytes()); !faulted) return faulted;
  // What the client did to the header and to the engine's own lines before the seal is overwritten here.
  auto header = view_.header();
  header.ready = 0;
  std::memset(bytes().data(), 0, view_.header().arena_offset);
  std::memcpy(bytes().data(), &header, sizeof header);
  return {};
}

void Segment::publish() {
  auto* header = reinterpret_cast<rde_segment_header*>(bytes().data());
  store_release(&header->ready, std::uint32_t{RDE_READY});  // SYNC POINT ready: pairs with the attach client's acquire
}

}  // namespace rde
