package jmespath

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"
)

var clockFunctions = []function{
	{"time_add", "ss>s", func(a []any) (any, error) {
		t, err := timeOf(a[0], time.RFC3339)
		if err != nil {
			return nil, err
		}
		d, err := durationOf(a[1])
		return t.Add(d).Format(time.RFC3339), err
	}},
	{"time_parse", "ss>s", func(a []any) (any, error) {
		if _, err := strconv.ParseInt(a[0].(string), 10, 64); err == nil {
			epoch, err := strconv.ParseInt(a[1].(string), 10, 64)
			if err != nil {
				return nil, errors.New("argument 2 must be the seconds since 1970")
			}
			return time.Unix(epoch, 0).UTC().Format(time.RFC3339), nil
		}
		t, err := timeOf(a[1], a[0].(string))
		return t.Format(time.RFC3339), err
	}},
	{"time_to_cron", "s>s", func(a []any) (any, error) {
		t, err := timeOf(a[0], time.RFC3339)
		return fmt.Sprintf("%d %d %d %d %d", t.Minute(), t.Hour(), t.Day(), t.Month(), t.Weekday()), err
	}},
	{"time_utc", "s>s", func(a []any) (any, error) {
		t, err := timeOf(a[0], time.RFC3339)
		return t.UTC().Format(time.RFC3339), err
	}},
	{"time_diff", "ss>s", func(a []any) (any, error) {
		t, err := times(a...)
		if err != nil {
			return nil, err
		}
		return t[1].Sub(t[0]).String(), nil
	}},
	{"time_before", "ss>b", func(a []any) (any, error) {
		t, err := times(a...)
		if err != nil {
			return nil, err
		}
		return t[0].Before(t[1]), nil
	}},
	{"time_after", "ss>b", func(a []any) (any, error) {
		t, err := times(a...)
		if err != nil {
			return nil, err
		}
		return t[0].After(t[1]), nil
	}},
	{"time_between", "sss>b", func(a []any) (any, error) {
		t, err := times(a...)
		if err != nil {
			return nil, err
		}
		return t[0].After(t[1]) && t[0].Before(t[2]), nil
	}},
	{"time_truncate", "ss>s", func(a []any) (any, error) {
		t, err := timeOf(a[0], time.RFC3339)
		if err != nil {
			return nil, err
		}
		d, err := durationOf(a[1])
		return t.Truncate(d).Format(time.RFC3339), err
	}},
}

func timeOf(arg any, layout string) (time.Time, error) {
	t, err := time.Parse(layout, arg.(string))
	if err != nil {
		return t, fmt.Errorf("an argument is not a time of the form %s", layout)
	}
	return t, nil
}

func times(args ...any) ([]time.Time, error) {
	list := make([]time.Time, len(args))
	for i, arg := range args {
		var err error
		if list[i], err = timeOf(arg, time.RFC3339); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func durationOf(arg any) (time.Duration, error) {
	d, err := time.ParseDuration(arg.(string))
	if err != nil {
		return 0, errors.New("argument 2 is not a duration like 1h30m")
	}
	return d, nil
}

// given are the functions whose results come from the user.
func (e *Env) given() []function {
	ask := func(call, argument string) (any, error) {
		if value, ok := e.answer(call, argument); ok {
			return Input(value), nil
		}
		return nil, fmt.Errorf("the result is different in every run; give it among the values, as %q", call)
	}
	return []function{
		{"time_now", ">s", func([]any) (any, error) { return ask("time_now()", "") }},
		{"time_now_utc", ">s", func([]any) (any, error) { return ask("time_now_utc()", "") }},
		{"random", "s>s", func(a []any) (any, error) { return ask("random()", a[0].(string)) }},
		{"is_external_url", "s>b", func(a []any) (any, error) { return ask("is_external_url()", a[0].(string)) }},
		{"time_since", "sss>s", func(a []any) (any, error) {
			layout := cmp.Or(a[0].(string), time.RFC3339)
			since, err := timeOf(a[1], layout)
			if err != nil {
				return nil, err
			}
			until := a[2]
			if until == "" {
				if until, err = ask("time_now()", ""); err != nil {
					return nil, err
				}
				if _, ok := until.(string); !ok {
					return nil, errors.New("the value given for time_now() is not a string")
				}
				layout = time.RFC3339
			}
			end, err := timeOf(until, layout)
			return end.Sub(since).String(), err
		}},
	}
}
