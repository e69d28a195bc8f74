#include "engine/doctor/rotation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "engine/doctor/rotary_pairs.hpp"

namespace attn::doctor {
namespace {

constexpr std::int64_t kMaxPositions = 1 << 17;  ///< the longest contexts of current models

/// Programs compute the angle in 32 bits and round sine and cosine to the format of q and k.
double slack_of(double length, double angle, const Rounding& rounding) {
    return length * (8 * rounding.unit + 2 * rounding.product + 0x1p-21 * (1 + std::fabs(angle))) + least(rounding);
}

/// The same rows before and after a possible rotation.
struct Turned {
    std::vector<double> before, after;  ///< [H,P,D]
    std::int64_t positions = 0, size = 0;
    bool at_projection = false;
};

/// Whether the pairs of one row (a position of a head) are rotated by this position's angles.
bool row_fits(const Turned& rows, std::size_t row, const Rotation& rotation, std::int64_t position, const Rounding& rounding) {
    const std::size_t start = row * static_cast<std::size_t>(rows.size);
    const std::int64_t width = width_in(rotation, rows.size);
    for (std::int64_t i = 0; i < width / 2; ++i) {
        const Pair pair = pair_of(rotation, width, i);
        const double x = rows.before[start + pair.first], y = rows.before[start + pair.second];
        const double angle = angle_at(rotation, width, i, position), c = rotation.factor * std::cos(angle),
                     s = rotation.factor * std::sin(angle), slack = rotation.factor * slack_of(std::hypot(x, y), angle, rounding);
        if (!(std::fabs(rows.after[start + pair.first] - (x * c - y * s)) <= slack)) return false;
        if (!(std::fabs(rows.after[start + pair.second] - (y * c + x * s)) <= slack)) return false;
    }
    return true;
}

bool all_fit(const Turned& rows, const Rotation& rotation, std::int64_t first, const Rounding& rounding) {
    const std::size_t count = rows.before.size() / static_cast<std::size_t>(rows.size);
    for (std::size_t row = 0; row < count; ++row) {
        const std::int64_t position = first + static_cast<std::int64_t>(row) % rows.positions;
        if (!row_fits(rows, row, rotation, position, rounding)) return false;
    }
    return true;
}

/// Whether the pairs keep their lengths, but for the factor, and dimensions that are not rotated their numbers.
bool keeps_lengths(const Turned& rows, const Rotation& rotation, const Rounding& rounding) {
    const std::int64_t width = width_in(rotation, rows.size);
    for (std::size_t start = 0; start < rows.before.size(); start += static_cast<std::size_t>(rows.size)) {
        for (std::int64_t i = 0; i < width / 2; ++i) {
            const Pair pair = pair_of(rotation, width, i);
            const double before = rotation.factor * std::hypot(rows.before[start + pair.first], rows.before[start + pair.second]);
            const double after = std::hypot(rows.after[start + pair.first], rows.after[start + pair.second]);
            if (!(std::fabs(before - after) <= 2 * slack_of(before, 0, rounding))) return false;
        }
        for (std::size_t d = start + static_cast<std::size_t>(width); d < start + static_cast<std::size_t>(rows.size); ++d)
            if (!(std::fabs(rows.after[d] - rows.before[d]) <= slack_of(std::fabs(rows.before[d]), 0, rounding))) return false;
    }
    return true;
}

/// By how much the rotated dimensions are longer afterwards.
double growth(const Turned& rows, const Rotation& rotation) {
    const std::int64_t width = width_in(rotation, rows.size);
    double before = 0, after = 0;
    for (std::size_t start = 0; start < rows.before.size(); start += static_cast<std::size_t>(rows.size))
        for (std::size_t d = start; d < start + static_cast<std::size_t>(width); ++d) {
            before += rows.before[d] * rows.before[d];
            after += rows.after[d] * rows.after[d];
        }
    return std::sqrt(after / before);
}

/// The pairing with the factor with which it keeps the lengths of all these rows; nullopt if there is none.
std::optional<Rotation> keeping_lengths(const std::vector<const Turned*>& all, Rotation pairing, const Rounding& rounding) {
    const auto keeps = [&](const Turned* rows) { return rows == nullptr || keeps_lengths(*rows, pairing, rounding); };
    if (std::all_of(all.begin(), all.end(), keeps)) return pairing;
    const auto longest = std::find_if(all.begin(), all.end(), [](const Turned* rows) { return rows != nullptr; });
    if (longest == all.end()) return std::nullopt;
    pairing.factor = growth(**longest, pairing);
    const bool is_plausible = pairing.factor > 0.5 && pairing.factor < 2;
    return is_plausible && std::all_of(all.begin(), all.end(), keeps) ? std::optional(pairing) : std::nullopt;
}

/// The position of the first row: `preferred` if it fits, else the lowest that does. Requires that lengths are unchanged.
std::optional<std::int64_t> first_position(const Turned& rows, const Rotation& rotation, std::int64_t preferred, const Rounding& rounding) {
    const auto fits = [&](std::int64_t first) {
        return row_fits(rows, 0, rotation, first, rounding) && all_fit(rows, rotation, first, rounding);
    };
    if (fits(preferred)) return preferred;
    constexpr std::int64_t kMaxBefore = 128;
    for (std::int64_t away = 1; away <= kMaxBefore; ++away)
        for (const std::int64_t first : {preferred + away, preferred - away})
            if (fits(first)) return first;
    double refuted = -1;
    for (std::int64_t first = 0; first < kMaxPositions; ++first) {
        const double step = stepped(rotation, first);
        if (step == refuted) continue;
        if (!row_fits(rows, 0, rotation, first, rounding)) refuted = step;
        else if (all_fit(rows, rotation, first, rounding)) return first;
    }
    return std::nullopt;
}

/// The same with every base that may be meant.
std::vector<Rotation> candidates(const Sequence& sequence, std::int64_t size) {
    std::vector<Rotation> out;
    for (Rotation rotation : pairings(sequence, size, usual_rotary_widths(size)))
        for (const double base : bases(sequence)) {
            rotation.base = base;
            out.push_back(rotation);
        }
    return out;
}

std::vector<double> split_heads(const Sequence& sequence, Part projection, std::int64_t positions, std::int64_t size) {
    const std::int64_t stored = sequence.heads_stored(projection);
    if (!sequence.has(projection) || size == 0 || static_cast<std::int64_t>(sequence[projection].size()) != stored * positions * size)
        return {};
    return repeat_heads(unpack({sequence[projection], {}}, Packing::Heads, stored, positions, size), stored, sequence.heads).value;
}

/// nullopt if they are not both recorded.
std::optional<Turned> turned(const Sequence& sequence, Part projection, Part plain, Part rotated) {
    Turned out;
    out.positions = is_shared(plain) ? sequence.keys : sequence.queries;
    out.size = plain == Part::V ? sequence.value_size : sequence.head_size;
    if (out.size == 0) return std::nullopt;
    const bool named = sequence.has(rotated);
    out.before = named && sequence.has(plain) ? sequence[plain] : split_heads(sequence, projection, out.positions, out.size);
    out.after = sequence[named ? rotated : plain];
    out.at_projection = !named;
    if (out.before.empty() || out.before.size() != out.after.size()) return std::nullopt;
    // Which shared head a query head received is a separate question.
    const std::int64_t from = sequence.heads_stored(named && sequence.has(plain) ? plain : projection);
    const std::vector<Rotation> possible = pairings(sequence, out.size, all_widths(out.size));
    const auto may_be = [&](const Rotation& rotation) { return keeping_lengths({&out}, rotation, rounding_of(sequence)).has_value(); };
    if (from < sequence.heads_stored(named ? rotated : plain) && std::none_of(possible.begin(), possible.end(), may_be))
        out.before = tile_heads({out.before, {}}, from, sequence.heads).value;
    return out;
}

/// The rotation of every pair at every position, from the head in which the pair is longest.
std::vector<std::complex<double>> angles_of(const Turned& rows, const Rotation& rotation) {
    const std::int64_t width = width_in(rotation, rows.size);
    const auto half = static_cast<std::size_t>(width / 2), pairs = static_cast<std::size_t>(rows.positions) * half;
    std::vector<std::complex<double>> out(pairs, 1);
    std::vector<double> longest(pairs, 0);
    for (std::size_t row = 0; row < rows.before.size() / static_cast<std::size_t>(rows.size); ++row)
        for (std::size_t i = 0; i < half; ++i) {
            const Pair pair = pair_of(rotation, width, static_cast<std::int64_t>(i));
            const std::size_t start = row * static_cast<std::size_t>(rows.size),
                              at = row % static_cast<std::size_t>(rows.positions) * half + i;
            const std::complex<double> before(rows.before[start + pair.first], rows.before[start + pair.second]);
            const std::complex<double> after(rows.after[start + pair.first], rows.after[start + pair.second]);
            if (std::abs(before) <= longest[at]) continue;
            longest[at] = std::abs(before);
            out[at] = after / before;
        }
    return out;
}

/// Whether all heads are rotated by these angles.
bool turned_by(const Turned& rows, const Rotation& rotation, const std::vector<std::complex<double>>& angles, const Rounding& rounding) {
    const std::int64_t width = width_in(rotation, rows.size);
    const auto half = static_cast<std::size_t>(width / 2);
    for (std::size_t row = 0; row < rows.before.size() / static_cast<std::size_t>(rows.size); ++row)
        for (std::size_t i = 0; i < half; ++i) {
            const Pair pair = pair_of(rotation, width, static_cast<std::int64_t>(i));
            const std::size_t start = row * static_cast<std::size_t>(rows.size);
            const std::complex<double> before(rows.before[start + pair.first], rows.before[start + pair.second]);
            const std::complex<double> after(rows.after[start + pair.first], rows.after[start + pair.second]);
            const double slack = 3 * slack_of(std::abs(before), 0, rounding);
            if (!(std::abs(after - before * angles[row % static_cast<std::size_t>(rows.positions) * half + i]) <= slack)) return false;
        }
    return true;
}

bool same_angles(const std::optional<Turned>& q, const std::optional<Turned>& k, const Sequence& sequence, const Rotation& rotation,
                 const Rounding& rounding) {
    if (q && !turned_by(*q, rotation, angles_of(*q, rotation), rounding)) return false;
    if (k && !turned_by(*k, rotation, angles_of(*k, rotation), rounding)) return false;
    if (!q || !k || sequence.queries > sequence.keys) return true;
    // Query t is at the position of key t + S - T.
    std::vector<std::complex<double>> angles = angles_of(*k, rotation);
    angles.erase(angles.begin(), angles.begin() + static_cast<std::ptrdiff_t>(sequence.first_query() * (width_in(rotation, k->size) / 2)));
    return turned_by(*q, rotation, angles, rounding);
}

/// How one tensor was rotated.
struct Turning {
    bool none = false;
    Rotation rotation{};
    std::int64_t first = 0;  ///< position of its first row
    bool backward = false;   ///< by the negative angles
    std::int64_t size = 0;   ///< of a head
    bool same_way_as(const Turning& other) const {
        return rotation.halves == other.rotation.halves && rotation.base == other.rotation.base && rotation.width == other.rotation.width &&
               backward == other.backward;
    }
};

std::optional<Turning> turning_of(const std::optional<Turned>& rows, const Sequence& sequence, std::int64_t meant,
                                  const Rounding& rounding) {
    if (!rows) return std::nullopt;
    if (rows->before == rows->after) return Turning{true};
    Turned back = *rows;
    std::swap(back.before, back.after);
    for (const Rotation& pairing : pairings(sequence, rows->size, all_widths(rows->size))) {
        if (!keeps_lengths(*rows, pairing, rounding)) continue;
        Rotation rotation = pairing;
        for (const double base : bases(sequence)) {
            rotation.base = base;
            if (const auto first = first_position(*rows, rotation, meant, rounding))
                return Turning{false, rotation, *first, false, rows->size};
        }
        for (const double base : bases(sequence)) {
            rotation.base = base;
            if (all_fit(back, rotation, meant, rounding)) return Turning{false, rotation, meant, true, rows->size};
        }
    }
    return std::nullopt;
}

std::string words_of(const Turning& turning) {
    return fmt::format("{}{}", turning.backward ? "by the negative angles, " : "", rotation_words(turning.rotation, turning.size));
}

}  // namespace

std::string rotation_words(const Rotation& rotation, std::int64_t size) {
    const std::string part = width_in(rotation, size) < size ? fmt::format(" over {} of {} dimensions", rotation.width, size) : "";
    return fmt::format("{}{} with base {:g}", rotation.halves ? "half-split" : "interleaved", part, rotation.base);
}

std::string factor_words(const Rotation& rotation) {
    return fmt::format("q and k are {:.5g} times as long after their rotation, as YaRN's attention factor makes them.", rotation.factor);
}

Estimate rotate(const Estimate& rows, std::int64_t positions, std::int64_t size, const Rotation& rotation, std::int64_t first,
                const Rounding& rounding) {
    const std::int64_t turned = width_in(rotation, size);
    if (turned % 2 != 0) return rows;
    Estimate out = rows;
    if (out.slack.empty()) out.slack.assign(out.value.size(), 0);
    std::vector<double> cosines, sines, angles;
    for (std::int64_t p = 0; p < positions; ++p)
        for (std::int64_t i = 0; i < turned / 2; ++i) {
            angles.push_back(angle_at(rotation, turned, i, first + p));
            cosines.push_back(rotation.factor * std::cos(angles.back()));
            sines.push_back(rotation.factor * std::sin(angles.back()));
        }
    const auto width = static_cast<std::size_t>(size), half = static_cast<std::size_t>(turned / 2);
    for (std::size_t row = 0; row < rows.value.size() / width; ++row)
        for (std::size_t i = 0; i < half; ++i) {
            const Pair pair = pair_of(rotation, turned, static_cast<std::int64_t>(i));
            const std::size_t a = row * width + pair.first, b = row * width + pair.second;
            const std::size_t at = row % static_cast<std::size_t>(positions) * half + i;
            const double x = rows.value[a], y = rows.value[b];
            out.value[a] = x * cosines[at] - y * sines[at];
            out.value[b] = y * cosines[at] + x * sines[at];
            out.slack[a] = out.slack[b] =
                rotation.factor * (rows.slack_at(a) + rows.slack_at(b) + slack_of(std::hypot(x, y), angles[at], rounding));
        }
    return out;
}

namespace {

std::optional<Rotation> rotation_with(RotarySteps steps, const Sequence& sequence, const Rounding& rounding) {
    const auto q = turned(sequence, Part::QProj, Part::Q, Part::QRotated), k = turned(sequence, Part::KProj, Part::K, Part::KRotated),
               v = turned(sequence, Part::VProj, Part::V, Part::VRotated);
    const auto differs = [](const std::optional<Turned>& rows) { return rows && rows->before != rows->after; };
    if (!differs(q) && !differs(k) && !differs(v)) return std::nullopt;
    const auto& keys = differs(k) || differs(q) ? k : v;
    const std::int64_t size = keys ? keys->size : q->size;
    for (const Rotation& pairing : pairings(sequence, size, all_widths(size))) {
        const auto kept = keeping_lengths({keys ? &*keys : nullptr, q ? &*q : nullptr}, pairing, rounding);
        for (const double base : kept ? bases(sequence) : std::vector<double>{}) {
            Rotation rotation = *kept;
            rotation.base = base;
            rotation.steps = steps;
            rotation.at_projection = differs(k) ? k->at_projection : differs(q) ? q->at_projection : v->at_projection;
            if (keys) {
                const auto first = first_position(*keys, rotation, 0, rounding);
                if (!first) continue;
                rotation.first_key = *first;
            }
            if (q && (differs(q) || differs(k))) {
                const auto first = first_position(*q, rotation, rotation.first_key + sequence.first_query(), rounding);
                if (!first) continue;
                rotation.first_query = *first;
                if (!keys) rotation.first_key = *first - sequence.first_query();
            } else {
                rotation.first_query = rotation.first_key + sequence.first_query();
            }
            return rotation;
        }
    }
    return std::nullopt;
}

/// Two positions that are one after their rounding, from `first` on; nullopt if there are none among as many.
std::optional<std::int64_t> shared_position(const Rotation& rotation, std::int64_t first, std::int64_t count) {
    for (std::int64_t position = first; position + 1 < first + count; ++position)
        if (stepped(rotation, position) == stepped(rotation, position + 1)) return position;
    return std::nullopt;
}

}  // namespace

std::optional<Rotation> visible_rotation(const Sequence& sequence, const Rounding& rounding) {
    return rotation_with(RotarySteps::Exact, sequence, rounding);
}

std::optional<MistakenRotation> coarse_rotation(const Sequence& sequence, const Rounding& rounding) {
    if (!shared_rotation(sequence, rounding)) return std::nullopt;
    for (const RotarySteps steps : {RotarySteps::Bfloat16Positions, RotarySteps::Float16Positions, RotarySteps::Bfloat16Angles}) {
        std::optional<Rotation> rotation = rotation_with(steps, sequence, rounding);
        if (!rotation) continue;
        MistakenRotation out{*rotation, ""};
        out.rotation.steps = RotarySteps::Exact;
        const auto shared = shared_position(*rotation, rotation->first_key, sequence.keys);
        out.words = fmt::format(
            "{} of q and k were rounded to {}{}. Compute them in float32.",
            steps == RotarySteps::Bfloat16Angles ? "The angles of the rotation" : "The positions",
            steps == RotarySteps::Float16Positions ? "float16" : "bfloat16",
            shared ? fmt::format(", so that {} and {} both became {:g}", *shared, *shared + 1, stepped(*rotation, *shared)) : "");
        return out;
    }
    return std::nullopt;
}

std::optional<MistakenRotation> unequal_rotations(const Sequence& sequence, const Rounding& rounding) {
    const auto queries = turned(sequence, Part::QProj, Part::Q, Part::QRotated),
               keys = turned(sequence, Part::KProj, Part::K, Part::KRotated);
    const auto q = turning_of(queries, sequence, sequence.first_query(), rounding), k = turning_of(keys, sequence, 0, rounding);
    if (!q || !k || (q->none && k->none)) return std::nullopt;
    if (!q->none && !k->none && q->same_way_as(*k)) return std::nullopt;
    const bool as_k = q->none || (q->backward && !k->none && !k->backward);
    const Turning& right = as_k ? *k : *q;
    MistakenRotation out;
    out.rotation = right.rotation;
    out.rotation.first_key = as_k ? k->first : q->first - sequence.first_query();
    out.rotation.first_query = out.rotation.first_key + sequence.first_query();
    out.rotation.at_projection = (as_k ? keys : queries)->at_projection;
    // One is recorded after its rotation and the other only before.
    if (queries->at_projection != keys->at_projection) return out;
    out.words = q->none   ? "Only k is rotated; q is used as it is."
                : k->none ? "Only q is rotated; k is used as it is."
                          : fmt::format("q is rotated {}, but k {}.", words_of(*q), words_of(*k));
    return out;
}

std::optional<Rotation> shared_rotation(const Sequence& sequence, const Rounding& rounding) {
    const auto q = turned(sequence, Part::QProj, Part::Q, Part::QRotated), k = turned(sequence, Part::KProj, Part::K, Part::KRotated);
    if ((!q || q->before == q->after) && (!k || k->before == k->after)) return std::nullopt;
    const std::int64_t size = k ? k->size : q->size;
    for (const Rotation& pairing : pairings(sequence, size, all_widths(size))) {
        const auto kept = keeping_lengths({k ? &*k : nullptr, q ? &*q : nullptr}, pairing, rounding);
        if (kept && same_angles(q, k, sequence, pairing, rounding)) return kept;
    }
    return std::nullopt;
}

std::optional<Rotation> backward_rotation(const Sequence& sequence, const Rounding& rounding) {
    const auto backwards = [](std::optional<Turned> rows) {
        if (rows && rows->before == rows->after) rows.reset();
        if (rows) std::swap(rows->before, rows->after);
        return rows;
    };
    const auto q = backwards(turned(sequence, Part::QProj, Part::Q, Part::QRotated)),
               k = backwards(turned(sequence, Part::KProj, Part::K, Part::KRotated));
    if (!q || !k) return std::nullopt;
    for (Rotation rotation : candidates(sequence, k->size)) {
        if (!keeps_lengths(*q, rotation, rounding) || !keeps_lengths(*k, rotation, rounding)) continue;
        if (!all_fit(*k, rotation, 0, rounding) || !all_fit(*q, rotation, sequence.first_query(), rounding)) continue;
        rotation.first_query = sequence.first_query();
        rotation.at_projection = k->at_projection;
        return rotation;
    }
    return std::nullopt;
}

std::vector<Rotation> usual_rotations(const Sequence& sequence) {
    std::vector<Rotation> out = candidates(sequence, sequence.head_size > 0 ? sequence.head_size : sequence.value_size);
    for (Rotation& rotation : out) rotation.first_query = sequence.first_query();
    return out;
}

std::vector<double> final_queries(const Sequence& sequence) {
    if (sequence.has(Part::QRotated)) return sequence[Part::QRotated];
    std::vector<double> rows =
        sequence.has(Part::Q) ? sequence[Part::Q] : split_heads(sequence, Part::QProj, sequence.queries, sequence.head_size);
    const std::optional<Rotation>& rotation = sequence.rotation;
    if (!rotation || rows.empty() || (rotation->at_projection && sequence.has(Part::Q))) return rows;
    return rotate({rows, {}}, sequence.queries, sequence.head_size, *rotation, rotation->first_query, rounding_of(sequence)).value;
}

std::vector<double> final_keys(const Sequence& sequence) {
    if (sequence.has(Part::KRotated)) return sequence[Part::KRotated];
    std::vector<double> rows =
        sequence.has(Part::K) ? sequence[Part::K] : split_heads(sequence, Part::KProj, sequence.keys, sequence.head_size);
    const std::optional<Rotation>& rotation = sequence.rotation;
    if (!rotation || rows.empty() || (rotation->at_projection && sequence.has(Part::K))) return rows;
    return rotate({rows, {}}, sequence.keys, sequence.head_size, *rotation, rotation->first_key, rounding_of(sequence)).value;
}

}  // namespace attn::doctor
