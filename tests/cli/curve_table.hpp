#pragma once
/// Helpers for comparing the curves of two runs.

#include <sstream>
#include <string>

namespace attn::test {

/// The table without its time column, which differs between runs.
inline std::string without_times(const std::string& curves) {
    std::istringstream stream(curves);
    std::string result;
    for (std::string line; std::getline(stream, line); result += '\n') {
        std::istringstream cells(line);
        int column = 0;
        for (std::string cell; std::getline(cells, cell, ','); ++column)
            if (column != 5) result += cell + ",";
    }
    return result;
}

}  // namespace attn::test
