#include "engine/plan/name_beside.hpp"

namespace attn {

std::string name_beside(const StageId& id, const StageId& other) {
    const bool elsewhere = id.stack != other.stack;
    std::string out = elsewhere && id.stack == Stack::Encoder ? "encoder " : elsewhere && id.stack == Stack::Decoder ? "decoder " : "";
    if (id.layer >= 0 && (elsewhere || id.layer != other.layer)) out += "L" + std::to_string(id.layer) + " ";
    return out.append(stage_name(id));
}

}  // namespace attn
