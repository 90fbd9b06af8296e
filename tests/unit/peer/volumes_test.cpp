// Announcing volumes.
#include "engines.h"

using namespace rde;
using namespace rde::test;

namespace {

std::vector<std::byte> part_of(std::uint64_t generation, std::uint32_t first, std::uint32_t total,
                               const std::vector<std::uint32_t>& ids) {
  wire::VolumesMessage part{wire::head_of<wire::VolumesMessage>(wire::kVolumes),
                            generation,
                            first,
                            total,
                            static_cast<std::uint32_t>(ids.size()),
                            0};
  part.head.size = static_cast<std::uint16_t>(sizeof(part) + ids.size() * 4);
  std::vector<std::byte> message(part.head.size);
  std::memcpy(message.data(), &part, sizeof(part));
  if (!ids.empty()) std::memcpy(message.data() + sizeof(part), ids.data(), ids.size() * 4);
  return message;
}

}  // namespace

TEST_CASE("a volume is found at the peer that announced it, as soon as the peer is ready") {
  Engines engines;
  engines.source.put(7, 1, pattern(10, 1));
  engines.source.put(9, 1, pattern(10, 1));
  engines.join();
  CHECK(engines.gateway->find_volume(7) == engines.peer);
  CHECK(engines.gateway->find_volume(9) == engines.peer);
  CHECK_FALSE(engines.gateway->find_volume(8));
  CHECK(engines.gateway->list()[0].volumes == 2);
}

TEST_CASE("changes of the list reach the peers") {
  Engines engines;
  engines.join();
  CHECK_FALSE(engines.gateway->find_volume(7));
  engines.source.put(7, 1, pattern(10, 1));
  engines.until([&] { return engines.gateway->find_volume(7).has_value(); });
  engines.source.drop_volume(7);
  engines.until([&] { return !engines.gateway->find_volume(7); });
}

TEST_CASE("a list of many thousand volumes is announced in parts") {
  Engines engines;
  for (std::uint32_t volume = 1; volume <= 30'000; ++volume) engines.source.put(volume * 3, 1, {});
  engines.join();
  CHECK(engines.gateway->list()[0].volumes == 30'000);
  CHECK(engines.gateway->find_volume(90'000));
  CHECK_FALSE(engines.gateway->find_volume(89'999));
}

TEST_CASE("a peer that is down has no volumes") {
  Engines engines;
  engines.source.put(7, 1, pattern(10, 1));
  engines.join();
  engines.fabric.kill(engines.storage_transport);
  engines.until([&] { return engines.gateway->state(engines.peer) == Status::peer_down; });
  CHECK_FALSE(engines.gateway->find_volume(7));
}

TEST_CASE("a list counts when its last part has come") {
  VolumeCatalog catalog;
  REQUIRE(catalog.on_message(part_of(1, 0, 3, {1, 5})));
  CHECK_FALSE(catalog.is_known());
  CHECK_FALSE(catalog.has(1));
  REQUIRE(catalog.on_message(part_of(1, 2, 3, {9})));
  CHECK(catalog.has(9));
  REQUIRE(catalog.on_message(part_of(2, 0, 2, {4})));
  CHECK(catalog.has(9));                              // the old list holds until the new one is whole
  REQUIRE(catalog.on_message(part_of(3, 0, 0, {})));  // which may start over
  CHECK_FALSE(catalog.has(9));
  CHECK(catalog.generation() == 3);
}

TEST_CASE("parts that do not follow each other are refused") {
  const auto after_first = [](const std::vector<std::byte>& second) {
    VolumeCatalog catalog;
    REQUIRE(catalog.on_message(part_of(1, 0, 4, {1, 5})));
    return catalog.on_message(second);
  };
  CHECK(after_first(part_of(1, 2, 4, {6, 7})));
  CHECK_FALSE(after_first(part_of(1, 3, 4, {6})));
  CHECK_FALSE(after_first(part_of(1, 1, 4, {6})));
  CHECK_FALSE(after_first(part_of(2, 2, 4, {6, 7})));
  CHECK_FALSE(after_first(part_of(1, 2, 5, {6, 7})));
  CHECK_FALSE(after_first(part_of(1, 2, 4, {5, 7})));
  CHECK_FALSE(after_first(part_of(1, 2, 4, {7, 6})));
}
