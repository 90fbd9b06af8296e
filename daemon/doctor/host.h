// The checks of the host: memory, processors, kernel, RDMA devices. Each reads below `root`, "/" but for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "config/config.h"
#include "doctor/finding.h"

namespace rde {

// The first line of a file, without the newline; nothing where it cannot be read.
std::optional<std::string> first_line(const std::filesystem::path& file);
std::optional<std::uint64_t> number_in(const std::filesystem::path& file);

// limits.cpp
Finding check_hugepages(const Config& config, const std::filesystem::path& root);
// `limit` in bytes; no value: unlimited.
Finding check_memlock(const Config& config, std::optional<std::uint64_t> limit);
// `limit`: bytes that this process may use.
Finding check_memory_use(const Config& config, std::uint64_t limit);
Finding check_open_files(const Config& config, std::uint64_t limit);

// kernel.cpp
Finding check_io_uring(const Config& config, const std::filesystem::path& root, int setup_error);
Finding check_processors(const Config& config, const std::filesystem::path& root, std::size_t allowed);

// rdma.cpp
Finding check_rdma_modules(const std::filesystem::path& root);
// One for each port of each device; one note where there is none.
Findings check_rdma_devices(const Config& config, const std::filesystem::path& root);

}  // namespace rde
