// A mapped segment file: bytes that stay mapped as long as the object lives.
//
//   auto mapping = Mapping::map(fd, Mapping::Access::read_write);
//   if (!mapping) return mapping.error();
//   use(mapping->bytes());
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstddef>
#include <span>

#include "base/status.h"

namespace rde {

class Mapping {
 public:
  enum class Access { read_only, read_write };

  // Maps the whole file; the descriptor may be closed afterwards. The mapping is kept out of forked children.
  static Result<Mapping> map(int fd, Access access);

  [[nodiscard]] std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(region_.get_address()), region_.get_size()};
  }

 private:
  explicit Mapping(boost::interprocess::mapped_region region) : region_(std::move(region)) {}
  boost::interprocess::mapped_region region_;
};

}  // namespace rde
