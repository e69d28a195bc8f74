#include "engine/recording/stage_axes.hpp"

namespace attn::recording {
namespace {

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t axis = strides.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
    return strides;
}

}  // namespace

std::string_view letters_of(Stage role) {
    switch (stage_kind(role)) {
    case StageKind::Map:
        return "BHTS";
    case StageKind::Attention:
        return "BTC";
    case StageKind::Heads:
        break;
    default:
        return "";
    }
    switch (role) {
    case Stage::K:
    case Stage::KNormed:
    case Stage::KRotated:
        return "BGSD";
    case Stage::V:
        return "BGSE";
    case Stage::Context:
        return "BHTE";
    default:
        return "BHTD";
    }
}

bool fits(std::string_view axes, std::string_view letters) {
    std::size_t at = 0;
    for (char letter : axes) {
        const auto is_it = [letter](char own) {
            return letter == own || (letter == 'H' && own == 'G') || (letter == 'D' && own == 'E') || (letter == 'G' && own == 'H') ||
                   (letter == 'T' && own == 'S');
        };
        while (at < letters.size() && !is_it(letters[at])) ++at;
        if (at++ == letters.size()) return false;
    }
    return !axes.empty();
}

CellPlaces::CellPlaces(const Shape& shape) {
    for (int axis = 0; axis < shape.rank(); ++axis) sizes_[static_cast<std::size_t>(axis)] = shape[axis].size;
}

std::optional<CellPlaces> CellPlaces::of(const std::vector<std::int64_t>& from, std::string_view axes, std::string_view letters,
                                         const Shape& shape) {
    if (from.size() != axes.size()) return {};
    const std::vector<std::int64_t> strides = strides_of(from);
    CellPlaces places(shape);
    std::size_t own = 0;
    for (std::size_t axis = 0; axis < letters.size(); ++axis) {
        if (own == axes.size() || !fits(axes.substr(own, 1), letters.substr(axis, 1))) continue;
        const std::int64_t size = from[own];
        if (size != 1 && size != shape[static_cast<int>(axis)].size) return {};
        places.steps_[axis] = size == 1 ? 0 : strides[own];
        ++own;
    }
    if (own != axes.size()) return {};
    return places;
}

CellPlaces CellPlaces::in_order(const Shape& shape) {
    CellPlaces places(shape);
    std::int64_t step = 1;
    for (std::size_t axis = places.sizes_.size(); axis-- > 0;) {
        places.steps_[axis] = step;
        step *= places.sizes_[axis];
    }
    return places;
}

}  // namespace attn::recording
