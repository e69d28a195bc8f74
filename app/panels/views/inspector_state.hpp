#pragma once
/// The explanation last shown by the inspector.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace attn::app {

struct Explanation;

struct InspectorState {
    std::shared_ptr<const Explanation> last;
    std::uint64_t serial = 0;                               ///< serial of the snapshot it belongs to
    std::optional<double> waits_since{};                    ///< when another stage was chosen, while `last` is still of the one before
    std::vector<std::int64_t> likeliest{};                  ///< indices of a row's largest numbers
    std::pair<std::uint64_t, std::int64_t> likeliest_in{};  ///< the row's matrix, by its key, and the row
};

}  // namespace attn::app
