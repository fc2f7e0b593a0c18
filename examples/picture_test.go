package examples

import (
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
)

// Sizes in pictures of terminals: of a letter of 13 pixels, of a line, and all around.
const (
	letterWidth = 7.83
	lineHeight  = 18
	margin      = 14
)

// looks are the colours of highlight groups in the dark and in the light: of letters, and of what is
// behind them.
var looks = map[string]struct{ dark, light, darkBack, lightBack string }{
	"Constant":   {dark: "#a5d6ff", light: "#0a3069"},
	"Identifier": {dark: "#7ee787", light: "#116329"},
	"Comment":    {dark: "#8b949e", light: "#6e7781"},
	"ModeMsg":    {dark: "#c9d1d9", light: "#24292f"},
	"MsgArea":    {dark: "#c9d1d9", light: "#24292f"},
	"NonText":    {dark: "#484f58", light: "#afb8c1"},
	"Pmenu":      {"#c9d1d9", "#24292f", "#30363d", "#d0d7de"},
	"PmenuSel":   {"#ffffff", "#ffffff", "#1f6feb", "#0969da"},
	"PreProc":    {dark: "#d2a8ff", light: "#8250df"},
	"Special":    {dark: "#ffa657", light: "#953800"},
	"Statement":  {dark: "#ff7b72", light: "#cf222e"},
	"StatusLine": {"#c9d1d9", "#24292f", "#21262d", "#eaeef2"},
}

// drawing is a picture of frames.
type drawing struct {
	frames []frame
	// total is the time of all frames in milliseconds.
	total int
	// lines are the drawn lines by their content, in order: strips refer to them.
	lines   []string
	style   strings.Builder
	unknown map[string]bool
}

// draw draws frames as one picture that moves. Each line of the screen is a strip with the texts that it
// has in the course of time, which moves below a window of one line. Readers who want no motion see the last
// frame. It returns the highlight groups that have no look, too.
func draw(frames []frame, title string) (picture string, unknown []string) {
	d := drawing{frames: frames, lines: []string{""}, unknown: map[string]bool{}}
	for _, f := range frames {
		d.total += f.time
	}
	width, height := len(frames[0].rows[0]), len(frames[0].rows)
	w, h := int(float64(width)*letterWidth)+2*margin, height*lineHeight+2*margin
	d.writeLooks()
	var strips, lines strings.Builder
	for row := range height {
		fmt.Fprintf(&strips, `<svg x="%d" y="%d" width="%d" height="%d"><g id="r%d">%s</g></svg>`+"\n", margin, margin+row*lineHeight, w-2*margin, lineHeight, row, d.strip(row))
	}
	d.animate("cursor", func(i int) string {
		return fmt.Sprintf("translate(%.1fpx,%dpx)", margin+float64(frames[i].column)*letterWidth, margin+frames[i].row*lineHeight)
	})
	for i, line := range d.lines[1:] {
		fmt.Fprintf(&lines, `<g id="l%d">%s</g>`+"\n", i+1, line)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" xml:space="preserve">
<title>%s</title>
<style>
%s</style>
<defs>
%s</defs>
<rect width="%[1]d" height="%[2]d" rx="8"/>
%[6]s<rect id="cursor" width="2" height="%[7]d"/>
</svg>
`, w, h, html.EscapeString(title), d.style.String(), lines.String(), strips.String(), lineHeight), slices.Sorted(maps.Keys(d.unknown))
}

// strip draws all that a line of the screen shows, one below the other.
func (d *drawing) strip(row int) string {
	var shown, steps []int
	for _, f := range d.frames {
		line := d.line(f.rows[row])
		number := slices.Index(d.lines, line)
		if number < 0 {
			number = len(d.lines)
			d.lines = append(d.lines, line)
		}
		if !slices.Contains(shown, number) {
			shown = append(shown, number)
		}
		steps = append(steps, slices.Index(shown, number))
	}
	d.animate(fmt.Sprintf("r%d", row), func(i int) string { return fmt.Sprintf("translateY(%dpx)", -steps[i]*lineHeight) })
	var b strings.Builder
	for i, number := range shown {
		if number > 0 {
			fmt.Fprintf(&b, `<use href="#l%d" y="%d"/>`, number, i*lineHeight)
		}
	}
	return b.String()
}

// writeLooks writes the style of letters in the dark and in the light.
func (d *drawing) writeLooks() {
	var dark, light strings.Builder
	for _, group := range slices.Sorted(maps.Keys(looks)) {
		l := looks[group]
		fmt.Fprintf(&dark, ".%s{fill:%s}", group, l.dark)
		fmt.Fprintf(&light, ".%s{fill:%s}", group, l.light)
		if l.darkBack != "" {
			fmt.Fprintf(&dark, ".%sBack{fill:%s}", group, l.darkBack)
			fmt.Fprintf(&light, ".%sBack{fill:%s}", group, l.lightBack)
		}
	}
	fmt.Fprintf(&d.style, `text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#c9d1d9}
rect{fill:#0d1117}#cursor{fill:#58a6ff}%s
@media (prefers-color-scheme:light){text{fill:#24292f}rect{fill:#f6f8fa}#cursor{fill:#0969da}%s}
svg>g,#cursor{animation:%dms step-end infinite}
@media (prefers-reduced-motion:reduce){svg>g,#cursor{animation:none!important}}
`, dark.String(), light.String(), d.total)
}

// animate writes where an element is at what part of the time, and at the end if nothing moves.
func (d *drawing) animate(name string, place func(frame int) string) {
	fmt.Fprintf(&d.style, "#%s{animation-name:%[1]s;transform:%s}@keyframes %[1]s{", name, place(len(d.frames)-1))
	time, before := 0, ""
	for i, f := range d.frames {
		if now := place(i); now != before {
			fmt.Fprintf(&d.style, "%.2f%%{transform:%s}", 100*float64(time)/float64(d.total), now)
			before = now
		}
		time += f.time
	}
	d.style.WriteString("}\n")
}

// line draws a line of the screen.
func (d *drawing) line(row []cell) string {
	end := len(row)
	for end > 0 && row[end-1].text == " " && looks[row[end-1].group].darkBack == "" {
		end--
	}
	if end == 0 {
		return ""
	}
	var backs, letters strings.Builder
	for from, to := 0, 0; from < end; from = to {
		group, text := row[from].group, ""
		for ; to < end && row[to].group == group; to++ {
			text += row[to].text
		}
		look, known := looks[group]
		if look.darkBack != "" {
			fmt.Fprintf(&backs, `<rect class="%sBack" x="%.1f" width="%.1f" height="%d"/>`, group, float64(from)*letterWidth, float64(to-from)*letterWidth, lineHeight)
		}
		if text = html.EscapeString(text); known {
			text = fmt.Sprintf(`<tspan class="%s">%s</tspan>`, group, text)
		} else if group != "" {
			d.unknown[group] = true
		}
		letters.WriteString(text)
	}
	return fmt.Sprintf(`%s<text y="13" textLength="%.1f">%s</text>`, backs.String(), float64(end)*letterWidth, letters.String())
}
