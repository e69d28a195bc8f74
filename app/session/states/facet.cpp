#include "app/session/states/facet.hpp"

#include <functional>
#include <type_traits>

namespace attn::app {
namespace {

/// Mixes values into one number, each by its own hash or, where it has none, member by member.
struct Mixer {
    std::size_t mixed = 0;

    template <class T>
    void add(const T& value) {
        if constexpr (std::is_enum_v<T>) add_hash(static_cast<std::size_t>(value));
        else add_hash(std::hash<T>{}(value));
    }
    void add(const StageId& id) { add(id.stage), add(id.layer), add(id.stack), add(id.attention), add(id.nth); }
    void add(const CellRef& cell) {
        add(cell.stage), add(cell.parameter);
        for (const std::int64_t index : cell.index) add(index);
    }
    void add(const attn::MapRegion& region) { add(region.first_row), add(region.rows), add(region.first_col), add(region.cols); }
    void add(const facet::TotalsSlice::Place& place) { add(place.layer), add(place.sequence); }
    template <class T>
    void add(const std::optional<T>& value) {
        if (value) add(*value);
        else add_hash(1);
    }
    void add_hash(std::size_t hash) { mixed ^= hash + 0x9E3779B97F4A7C15U + (mixed << 6) + (mixed >> 2); }
};

}  // namespace

std::size_t RequestHash::operator()(const Request& request) const {
    Mixer mixer;
    mixer.add(request.state.get()), mixer.add(request.facet.index());
    std::visit(
        [&mixer](const auto& one) {
            if constexpr (requires { one.stage; }) mixer.add(one.stage);
            if constexpr (requires { one.first; }) mixer.add(one.first);
            if constexpr (requires { one.weights; }) mixer.add(one.weights);
            if constexpr (requires { one.cell; }) mixer.add(one.cell);
            if constexpr (requires { one.head; }) mixer.add(one.head);
            if constexpr (requires { one.region; }) mixer.add(one.region);
            if constexpr (requires { one.at; }) mixer.add(one.at);
            if constexpr (requires { one.sequence; }) mixer.add(one.sequence);
            if constexpr (requires { one.position; }) mixer.add(one.position);
            if constexpr (requires { one.parameter; }) mixer.add(one.parameter);
        },
        request.facet);
    return mixer.mixed;
}

}  // namespace attn::app
