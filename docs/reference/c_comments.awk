# As comments.awk, for C: /* becomes /**, and /**< after code. Headings of sections, which begin with ---, stay ordinary
# comments.
function escaped(text) {
    gsub(/[\\@#<>%"]/, "\\\\&", text)
    return text
}

/^\/\* SPDX/ { print "/** \\file" ($0 ~ /\*\/$/ ? " */" : ""); inside = $0 !~ /\*\/$/; next }

inside { print escaped($0); inside = $0 !~ /\*\//; next }

/^ *\/\* ---/ { print; while ($0 !~ /\*\/ *$/ && (getline) > 0) print; next }

# After code; the \ at the end of a line of a macro is not a part of the comment.
/[^ ] +\/\* / && !/"[^"]*\/\*[^"]*"/ {
    column = match($0, / \/\* /) + 1
    print substr($0, 1, column - 1) "/**<" escaped(substr($0, column + 2))
    inside = $0 !~ /\*\//
    next
}

/^ *\/\*/ {
    column = index($0, "/*")
    print substr($0, 1, column - 1) "/**" escaped(substr($0, column + 2))
    inside = $0 !~ /\*\//
    next
}

{ print }
