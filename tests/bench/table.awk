# The rows of a table of figures, made from the output of cinnabar-bench: awk -f table.awk names.txt bench.json.
# names.txt describes each figure in words. With -v only="NAME ..." only these rows, in that order.

# The value of a key in a row; empty for null. Each row is on one line.
function field(key,    at, rest) {
    at = index($0, "\"" key "\": ")
    if (!at) return ""
    rest = substr($0, at + length(key) + 4)
    if (rest !~ /^"/) { sub(/[,}].*/, "", rest); return rest == "null" ? "" : rest }
    match(rest, /^"([^"\\]|\\.)*"/)
    rest = substr(rest, 2, RLENGTH - 2)
    gsub(/\\"/, "\"", rest)
    gsub(/\|/, "/", rest)
    return rest
}
function short(number) { return sprintf(number >= 100 || number <= -100 ? "%.0f" : "%.3g", number) }

NR == FNR {
    if (match($0, /^[^ #][^ ]* = /)) words[substr($0, 1, RLENGTH - 3)] = substr($0, RLENGTH + 1)
    next
}
/"name": / {
    name = field("name")
    counted = field("limit_name") == "the bar itself" || field("ratio") == ""
    measured = short(field("value")) " " field("unit")
    wanted = counted && field("limit") != "" ? "<= " short(field("limit")) : field("bar")
    if (!counted)
        measured = sprintf("%.2f [%.2f %.2f] x %s", field("ratio"), field("ci_low"), field("ci_high"),
            field("limit_name"))
    if (field("remark") ~ /^skipped: /) measured = field("remark")
    what = name in words ? words[name] : "`" name "`"
    rows[name] = "| " what " | " measured " | " wanted " | " tolower(field("verdict")) " |"
    order[++count] = name
}
END {
    if (only != "") count = split(only, order, " ")
    print "| work | measured [95 %] | wanted | |"
    print "|---|---|---|---|"
    for (i = 1; i <= count; ++i)
        if (order[i] in rows) print rows[order[i]]
}
