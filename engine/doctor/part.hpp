#pragma once
/// The tensors of one attention that the doctor knows, and the names under which they are found in files.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn::doctor {

/// In the order of computation, which is the order in which they are judged.
enum class Part : std::uint8_t {
    QProj,     ///< [B,T,C] before the split into heads
    KProj,     ///< [B,S,C]
    VProj,     ///< [B,S,C]
    Q,         ///< [B,H,T,D]
    K,         ///< [B,H,S,D]
    V,         ///< [B,H,S,Dv]
    QRotated,  ///< [B,H,T,D] after rotary positions, where q is recorded before them too
    KRotated,  ///< [B,H,S,D]
    VRotated,  ///< [B,H,S,Dv], which no model should have
    Scores,    ///< [B,H,T,S]
    Scaled,    ///< [B,H,T,S]
    Masked,    ///< [B,H,T,S]
    Weights,   ///< [B,H,T,S]
    Dropped,   ///< [B,H,T,S]
    Context,   ///< [B,H,T,Dv]
    Concat,    ///< [B,T,HDv]
};
inline constexpr int kPartCount = static_cast<int>(Part::Concat) + 1;

/// The design's name: "q_proj", "scores".
std::string_view part_name(Part part);

inline bool is_projection(Part part) { return part <= Part::VProj; }
inline bool is_map(Part part) { return part >= Part::Scores && part <= Part::Dropped; }
/// [B,H,S,D]: of keys or values, which heads may share.
inline bool is_shared(Part part) {
    return part == Part::K || part == Part::V || part == Part::KRotated || part == Part::VRotated || part == Part::KProj ||
           part == Part::VProj;
}
/// [B,positions,width] without a head axis.
inline bool is_packed(Part part) { return is_projection(part) || part == Part::Concat; }

/// What a mask tensor's name says about its meaning.
enum class MaskMeaning : std::uint8_t {
    Keep,       ///< true or 1 = may attend; numbers that are not 0 and 1 are added
    Additive,   ///< added to the scaled scores, whatever the numbers are
    Ignore,     ///< true = may not attend
    Ambiguous,  ///< frameworks disagree: true may mean either
};

/// What a tensor's name (without its prefix) stands for.
struct NameMeaning {
    std::optional<Part> part;
    /// The name is also used for the same numbers at a later stage, such as attention_scores after scaling or masking, and
    /// attention_probs after dropout.
    bool may_be_later = false;
    std::optional<MaskMeaning> mask;
    bool keys_only = false;  ///< of a mask: its name says that it is about keys, [B,S]
    bool exact = false;      ///< the design's own name, not an alias
};

/// Nothing for a name that is not known. Case does not matter.
std::optional<NameMeaning> meaning_of_name(std::string_view name);

}  // namespace attn::doctor
