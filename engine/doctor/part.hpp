#pragma once
/// The tensors of an attention that the doctor knows, and their names in files.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn::doctor {

/// In order of computation, which is the order in which they are judged.
enum class Part : std::uint8_t {
    QProj,     ///< [B,T,C] before the split into heads
    KProj,     ///< [B,S,C]
    VProj,     ///< [B,S,C]
    Q,         ///< [B,H,T,D]
    K,         ///< [B,H,S,D]
    V,         ///< [B,H,S,Dv]
    QRotated,  ///< [B,H,T,D] after RoPE, if q is also recorded before it
    KRotated,  ///< [B,H,S,D]
    VRotated,  ///< [B,H,S,Dv]; no model should rotate values
    Scores,    ///< [B,H,T,S]
    Scaled,    ///< [B,H,T,S]
    Capped,    ///< [B,H,T,S] after a soft cap, if there is one
    Masked,    ///< [B,H,T,S]
    Weights,   ///< [B,H,T,S]
    Dropped,   ///< [B,H,T,S]
    Context,   ///< [B,H,T,Dv]
    Concat,    ///< [B,T,HDv]
};
inline constexpr int kPartCount = static_cast<int>(Part::Concat) + 1;

/// "q_proj", "scores".
std::string_view part_name(Part part);

inline bool is_projection(Part part) { return part <= Part::VProj; }
inline bool is_map(Part part) { return part >= Part::Scores && part <= Part::Dropped; }
/// [B,H,S,D]: parts of keys or values, whose heads may be shared.
inline bool is_shared(Part part) {
    return part == Part::K || part == Part::V || part == Part::KRotated || part == Part::VRotated || part == Part::KProj ||
           part == Part::VProj;
}
/// [B,positions,width], without a head axis.
inline bool is_packed(Part part) { return is_projection(part) || part == Part::Concat; }

/// What a mask tensor's name says about its meaning.
enum class MaskMeaning : std::uint8_t {
    Keep,       ///< true or 1 = may attend; numbers other than 0 and 1 are added
    Additive,   ///< added to the scaled scores, whatever the numbers are
    Ignore,     ///< true = may not attend
    Ambiguous,  ///< frameworks differ: true may mean either
};

/// The meaning of a tensor's name, without its prefix.
struct NameMeaning {
    std::optional<Part> part;
    /// The name is also used for a later stage, such as attention_scores after scaling or masking, and attention_probs after dropout.
    bool may_be_later = false;
    std::optional<MaskMeaning> mask;
    bool keys_only = false;  ///< masks only: the name says that it refers to keys, [B,S]
    bool normed = false;     ///< q, k or v after a norm of its own, which replaces the projection as recorded before it
    bool module = false;     ///< also the name of the module whose output is the attention's
    bool sinks = false;      ///< the logits of sinks, [H]
    bool exact = false;      ///< our own name rather than an alias
};

/// nullopt for an unknown name. Case-insensitive.
std::optional<NameMeaning> meaning_of_name(std::string_view name);

}  // namespace attn::doctor
