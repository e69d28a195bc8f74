#pragma once
/// Products shared by many recipes, for one sequence and one Rounding.

#include <array>
#include <map>
#include <memory>
#include <tuple>

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

struct SharedProducts {
    /// By Recipe's split, projections_swapped, scores_use_values, queries_keys_swapped, queries_from_keys, keys_tiled and
    /// positions_as_seen.
    std::map<std::tuple<Packing, bool, bool, bool, bool, bool, bool>, std::shared_ptr<const Estimate>> scores;
    std::shared_ptr<const Estimate> context;  ///< from the recorded weights and v, without any mistake
    std::array<std::shared_ptr<const Estimate>, kPartCount> recorded;
    /// Of scores that were scaled last, because most recipes scale the same ones by the same factor.
    struct Scaled {
        std::shared_ptr<const Estimate> from, result;
        double factor = 0;
    } scaled;
};

}  // namespace attn::doctor
