#include "app/session/states/places_in_use.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "engine/weights/first_ids.hpp"

namespace attn::app {
namespace {

struct InUse {
    std::weak_ptr<const Parameters<float>> trained, reads;
    std::int64_t ids = 0;
};

/// For the whole process, because trained models are.
struct AllInUse {
    std::mutex mutex;
    std::vector<InUse> models;
};

}  // namespace

std::shared_ptr<const Parameters<float>> with_places_in_use(const std::shared_ptr<const Parameters<float>>& trained, std::int64_t ids) {
    if (trained->config().vocab_size <= ids) return trained;
    static AllInUse all;
    const std::lock_guard lock(all.mutex);
    std::erase_if(all.models, [](const InUse& one) { return one.reads.expired() || one.trained.expired(); });
    for (const InUse& one : all.models)
        if (one.ids == ids && one.trained.lock() == trained)
            if (auto reads = one.reads.lock()) return reads;
    auto reads = std::make_shared<const Parameters<float>>(with_first_ids(*trained, ids));
    all.models.push_back({trained, reads, ids});
    return reads;
}

}  // namespace attn::app
