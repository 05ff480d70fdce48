// How lists show the partitions of one gate's policies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/gate/gate.h"
#include "headgate/view/partition_label.h"

namespace headgate::view {

// Shows keys as they are if the policy file says `partition-key: plain`, otherwise the keyed hash
// that stands for them. Immutable, thread-safe.
class Labels {
 public:
  // `gate` outlives the Labels.
  explicit Labels(const gate::Gate& gate)
      : gate_(gate),
        plain_(gate.policies().settings().partition_key == policy::PartitionKey::plain),
        form_(gate.opaque(plain_ ? "plain" : "opaque").lo | 1) {}

  [[nodiscard]] bool plain() const noexcept { return plain_; }

  // Labels of another form than that in force may show what must not be shown any more, or differ
  // for the same partition. Never 0; the same in all processes that share a table.
  [[nodiscard]] std::uint64_t form() const noexcept { return form_; }

  // Stands for a partition, the same in all processes that share a table. `key`: its own key.
  [[nodiscard]] Hash128 id(std::string_view key) const noexcept { return gate_.opaque(key); }
  // The same for a policy and a readable key. std::nullopt: there is no such policy. Throws
  // std::bad_alloc.
  [[nodiscard]] std::optional<Hash128> id(std::string_view policy, std::string_view key) const {
    std::string text;
    const auto match = gate_.policies().named(policy, key, 0, text);
    return match ? std::optional(id(match->own_key)) : std::nullopt;
  }

  // Writes the label of a partition, at most TopSketch::label_max bytes, and returns their number.
  // `key`: as stores take it; `partition`: what may be shown of it.
  std::size_t write(std::string_view policy, std::string_view key, std::string_view partition,
                    char* out) const noexcept {
    const Hash128 client = gate_.opaque(partition);
    return plain_ ? write_plain_label(policy, partition, client, out)
                  : write_opaque_label(policy, gate_.opaque(key), client, out);
  }

 private:
  const gate::Gate& gate_;
  bool plain_;
  std::uint64_t form_;
};

}  // namespace headgate::view
