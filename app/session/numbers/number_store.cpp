#include "app/session/numbers/number_store.hpp"

namespace attn::app {

void NumberStore::begin_frame() {
    changed.begin_frame();
    statistics.begin_frame();
    one_hot.begin_frame();
    strong_cells.begin_frame();
    latest_cells.begin_frame();
    slices.begin_frame();
    regions.begin_frame();
    last_regions.begin_frame();
}

float OneHotRows::read(const void* rows, std::int64_t at) {
    const auto& [ids, cols] = *static_cast<const OneHotRows*>(rows);
    return ids[at / cols] == at % cols ? 1.F : 0.F;
}

}  // namespace attn::app
