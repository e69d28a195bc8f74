#pragma once
/// Edits the user makes inside a forward pass: numbers of a stage are changed as soon as they are computed, and everything downstream reads
/// the changed ones.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn {

class Mask;

enum class EditKind : std::uint8_t {
    Set,      ///< numbers become `value`
    Scale,    ///< numbers are multiplied by `value`; 0 removes them
    Freeze,   ///< rows become a fixed pattern; only in weights and dropped
    TakeRow,  ///< rows are replaced by others of the same text, such as one token's query by another's, or by those of another text, which
              ///< is called activation patching; not in masked, weights and dropped
};

/// What a frozen query attends to. A row stays as computed if the pattern's key is masked.
enum class Pattern : std::uint8_t {
    Uniform,   ///< equal weights on all allowed keys
    Previous,  ///< 1 on the key before the query; the first position looks at itself
    Self,      ///< 1 on the query's own position
    First,     ///< 1 on the first key
};

/// A change of stage `at`. An index of kAll means all: Set without a column sets whole rows, Scale with only a head scales that head.
/// Masked cells are never changed, because they take no part in attention.
struct Edit {
    static constexpr std::int64_t kAll = -1;
    /// Limit on the magnitude of `value`, so that its square is well within float's range.
    static constexpr double kMostValue = 1e9;

    EditKind kind = EditKind::Set;
    StageId at;
    std::int64_t sequence = kAll;       ///< in the batch
    std::int64_t head = kAll;           ///< ignored by stages without heads
    std::int64_t row = kAll;            ///< position; required for TakeRow within a text
    std::int64_t column = kAll;         ///< Set and Scale
    std::int64_t from = 0;              ///< TakeRow: the row taken; kAll: the row at the same position, only from another text
    std::int64_t from_sequence = kAll;  ///< TakeRow: the text taken from, which itself stays; kAll: every text takes from itself
    double value = 0;                   ///< Set and Scale
    Pattern pattern = Pattern::Uniform;
    bool on = true;
    bool operator==(const Edit&) const = default;
};

/// Longer lists of edits are rejected.
inline constexpr std::size_t kMostEdits = 512;

/// True for stages that can be edited: not the tokens, which are text, and not the probabilities, which nothing reads.
bool is_editable(Stage stage);
/// True if this kind of edit makes sense for the stage.
bool is_editable(Stage stage, EditKind kind);

/// Throws ConfigError if the value is not finite or exceeds kMostValue.
void require_edit(const Edit& edit);

/// The edits that affect one text of a batch, as edits of that text alone. Throws Error for one that takes numbers from another text.
std::vector<Edit> edits_of_text(const std::vector<Edit>& edits, std::int64_t sequence);

/// Why the edit changes nothing in a stage of this shape ("position 7 is not there: there are 5"); "" if it does change something. The mask
/// is null for stages without one. Ignores Edit::on.
std::string why_without_effect(const Edit& edit, const Shape& shape, const Mask* mask);

}  // namespace attn
