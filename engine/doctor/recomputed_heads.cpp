#include "engine/doctor/recomputation.hpp"
#include "engine/doctor/rotation.hpp"

namespace attn::doctor {

MaybeEstimate Recomputation::queries() {
    return rotated(heads_of(recipe_.queries_from_keys ? Part::KProj : Part::QProj, sequence_.queries, sequence_.head_size, false),
                   sequence_.queries, sequence_.head_size, rotation_at_projection(), first_query());
}

MaybeEstimate Recomputation::keys() {
    const Part from = recipe_.projections_swapped ? Part::VProj : recipe_.queries_from_keys ? Part::QProj : Part::KProj;
    return rotated(heads_of(from, sequence_.keys, sequence_.head_size, recipe_.keys_tiled && !sharing_is_ahead(Part::K)), sequence_.keys,
                   sequence_.head_size, rotation_at_projection(), first_key());
}

MaybeEstimate Recomputation::values() {
    const Part from = recipe_.projections_swapped ? Part::KProj : Part::VProj;
    return rotated(heads_of(from, sequence_.keys, sequence_.value_size, recipe_.values_tiled && !sharing_is_ahead(Part::V)), sequence_.keys,
                   sequence_.value_size, values_turn_at_projection() ? values_rotation() : nullptr, first_value());
}

MaybeEstimate Recomputation::rotated_queries() {
    return rotated(input(Part::Q), sequence_.queries, sequence_.head_size, rotation_after_q(), first_query());
}

MaybeEstimate Recomputation::rotated_keys() {
    return rotated(tiled(Part::K, Part::KRotated, recipe_.keys_tiled), sequence_.keys, sequence_.head_size, rotation_after_q(),
                   first_key());
}

MaybeEstimate Recomputation::rotated_values() {
    return rotated(tiled(Part::V, Part::VRotated, recipe_.values_tiled), sequence_.keys, sequence_.value_size,
                   values_turn_at_projection() ? nullptr : values_rotation(), first_value());
}

MaybeEstimate Recomputation::heads_of(Part projection, std::int64_t positions, std::int64_t size, bool tile) {
    if (!sequence_.has(projection) || size == 0) return nullptr;
    const std::int64_t stored = sequence_.heads_stored(projection);
    if (static_cast<std::int64_t>(sequence_[projection].size()) != stored * positions * size) return nullptr;
    Estimate heads = repeat_heads(unpack({sequence_[projection], {}}, recipe_.split, stored, positions, size), stored, sequence_.heads);
    return share(tile ? tile_heads(heads, stored, sequence_.heads) : std::move(heads));
}

MaybeEstimate Recomputation::tiled(Part from, Part to, bool tile) {
    MaybeEstimate rows = input(from);
    if (rows == nullptr || !tile || !sharing_is_ahead(from) || !sequence_.has(to) || sharing_is_ahead(to)) return rows;
    return share(tile_heads(*rows, sequence_.heads_stored(from), sequence_.heads));
}

MaybeEstimate Recomputation::handed_out(Part plain, Part rotated, bool tile) {
    MaybeEstimate rows = input(rotated);
    const Part last = sequence_.has(rotated) ? rotated : plain;
    if (rows == nullptr || !tile || !sharing_is_ahead(last)) return rows;
    return share(tile_heads(*rows, sequence_.heads_stored(last), sequence_.heads));
}

const Rotation* Recomputation::rotation_at_projection() const {
    return sequence_.rotation && sequence_.rotation->at_projection ? &*sequence_.rotation : nullptr;
}

const Rotation* Recomputation::rotation_after_q() const {
    return sequence_.rotation && !sequence_.rotation->at_projection ? &*sequence_.rotation : nullptr;
}

bool Recomputation::values_turn_at_projection() const {
    return sequence_.has(Part::VProj) && sequence_.has(Part::V) && !sequence_.has(Part::VRotated) &&
           (recipe_.values_rotated ? recipe_.values_rotated->at_projection : false);
}

std::int64_t Recomputation::first_query() const {
    return recipe_.positions_as_seen ? sequence_.rotation->first_query : first_key() + sequence_.first_query();
}

MaybeEstimate Recomputation::rotated(const MaybeEstimate& rows, std::int64_t positions, std::int64_t size, const Rotation* rotation,
                                     std::int64_t first) const {
    if (rows == nullptr || rotation == nullptr) return rows;
    return share(rotate(*rows, positions, size, *rotation, first, rounding_));
}

}  // namespace attn::doctor
