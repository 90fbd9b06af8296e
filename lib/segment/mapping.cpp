#include "segment/mapping.h"

#include <boost/interprocess/exceptions.hpp>

#include "prim/memory.h"

namespace rde {
namespace {

namespace ipc = boost::interprocess;

// What mapped_region asks of a file, for a descriptor that came over a socket.
class FileView {
 public:
  FileView(int fd, ipc::mode_t mode) : fd_(fd), mode_(mode) {}
  [[nodiscard]] ipc::mapping_handle_t get_mapping_handle() const {
    return ipc::ipcdetail::mapping_handle_from_file_handle(fd_);
  }
  [[nodiscard]] ipc::mode_t get_mode() const { return mode_; }

 private:
  int fd_;
  ipc::mode_t mode_;
};

}  // namespace

Result<Mapping> Mapping::map(int fd, Access access) {
  const auto size = prim::size_of_file(fd);
  if (!size) return size.error();
  if (size->bytes == 0) return Error{Status::segment_invalid, "the segment is empty"};
  const auto mode = access == Access::read_only ? ipc::read_only : ipc::read_write;
  try {
    Mapping mapping(ipc::mapped_region(FileView(fd, mode), mode, 0, size->bytes));
    prim::exclude_from_fork(mapping.bytes());
    return mapping;
  } catch (const ipc::interprocess_exception& error) {
    return Error{Status::system_error, "map a segment of " + std::to_string(size->bytes) + " bytes: " + error.what()};
  }
}

}  // namespace rde
