#pragma once
/// Everything a forward pass computed: an immutable list of stages in order of computation.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/attention/mask.hpp"
#include "engine/plan/stage.hpp"
#include "engine/tensor/tensor.hpp"
#include "engine/trace/reduced_map.hpp"
#include "engine/trace/structure.hpp"
#include "engine/weights/parameters.hpp"

namespace attn {

struct EditMarks;

template <class Scalar>
struct RecordedStage {
    StageId id;
    Tensor<Scalar> value;
    /// For masked, weights and dropped: which cells are masked. Null for every other stage.
    std::shared_ptr<const Mask> mask{};
    /// Which cells were set by an edit; null if none, and for gradients.
    std::shared_ptr<const EditMarks> edited{};
    /// The only head recorded of a long text's map, in which case `value` is [1,1,T,S]; none: all heads.
    std::optional<std::int64_t> only_head{};

    /// Index of a head in `value`.
    std::int64_t place_of_head(std::int64_t head) const { return only_head ? head - *only_head : head; }
};

/// A stage of recorded code that cannot be known any more after an edit of a stage before it.
struct LostStage {
    StageId id;
    std::string why;  ///< "its parameters were not recorded"
};

template <class Scalar>
struct Trace : Structure {
    std::shared_ptr<const Parameters<Scalar>> parameters;
    std::vector<RecordedStage<Scalar>> stages;
    /// Reduced maps of a long text, which are not among `stages`; they cover whole maps.
    std::vector<ReducedMap> reduced;
    /// Of recorded code: what edits took away. They are not in the plan.
    std::vector<LostStage> lost{};

    /// Whether every stage of the plan was recorded.
    bool whole() const { return plan == nullptr || stages.size() == plan->nodes().size(); }
    /// nullptr if the stage was not recorded with all its heads.
    const RecordedStage<Scalar>* find(const StageId& id) const {
        for (const auto& stage : stages)
            if (stage.id == id && !stage.only_head) return &stage;
        return nullptr;
    }
    /// The stage if it has this head: recorded with all heads or with this one only (see RecordedStage::place_of_head).
    const RecordedStage<Scalar>* find(const StageId& id, std::int64_t head) const {
        for (const auto& stage : stages)
            if (stage.id == id && (!stage.only_head || stage.only_head == head)) return &stage;
        return nullptr;
    }
    /// nullptr if there is none.
    const ReducedMap* reduced_map(const StageId& id) const {
        for (const ReducedMap& map : reduced)
            if (map.id == id) return &map;
        return nullptr;
    }
};

}  // namespace attn
