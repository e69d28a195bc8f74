#pragma once
/// What a NumberDesk keeps from frame to frame: numbers computed for drawing, and the identity of those that facets computed.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "app/session/numbers/heatmap_data.hpp"
#include "app/session/values/changed_slice.hpp"
#include "app/session/values/strong_cells.hpp"
#include "engine/trace/reduced_map.hpp"

namespace attn::app {

/// Values by key, dropped once they have not been used for some frames.
template <class Value>
class KeptByUse {
public:
    explicit KeptByUse(std::uint64_t frames) : frames_(frames) {}
    /// Made if it is not there.
    Value& at(std::uint64_t key, bool* fresh = nullptr) {
        const auto [it, made] = entries_.try_emplace(key);
        it->second.used = frame_;
        if (fresh != nullptr) *fresh = made;
        return it->second.value;
    }
    /// Null if it is not there.
    Value* find(std::uint64_t key) {
        const auto it = entries_.find(key);
        if (it == entries_.end()) return nullptr;
        it->second.used = frame_;
        return &it->second.value;
    }
    void begin_frame() {
        ++frame_;
        std::erase_if(entries_, [this](const auto& entry) { return frame_ - entry.second.used > frames_; });
    }

private:
    struct Entry {
        Value value{};
        std::uint64_t used = 0;
    };
    std::map<std::uint64_t, Entry> entries_;
    std::uint64_t frames_, frame_ = 0;
};

/// A region of a map, and the numbers that it points into.
struct KeptRegion {
    std::shared_ptr<const ReducedMap> numbers;
    HeatmapRegion region;
};

/// Numbers of a facet, and the key they were given when they first came.
struct KeptSlice {
    std::shared_ptr<const ChangedSlice> numbers;
    std::uint64_t key = 0;
};

/// Which number of each row is 1.
struct OneHotRows {
    const std::int32_t* ids = nullptr;
    std::int64_t cols = 0;
    static float read(const void* rows, std::int64_t at);
};

struct NumberStore {
    /// While a key is held or a pane is closed, small results wait to be looked at again; large ones are dropped with their last picture.
    static constexpr std::uint64_t kSoon = 120, kAtOnce = 1;

    KeptByUse<ChangedSlice> changed{kSoon};
    KeptByUse<TensorStatistics> statistics{kSoon};
    KeptByUse<OneHotRows> one_hot{kSoon};
    KeptByUse<std::shared_ptr<const StrongCells>> strong_cells{kAtOnce}, latest_cells{kAtOnce};
    KeptByUse<KeptSlice> slices{kAtOnce};
    KeptByUse<KeptRegion> regions{kAtOnce};
    KeptByUse<std::uint64_t> last_regions{kAtOnce};  ///< the key in `regions`, by map
    std::map<std::string, std::pair<float, float>> latest_ranges;
    std::uint64_t slices_so_far = 0;

    /// To be called once a frame, before anything is asked for.
    void begin_frame();
};

}  // namespace attn::app
