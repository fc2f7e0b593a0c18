package jmespath

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"
)

var clockFunctions = []function{
	onDuration("time_add", "a time plus a duration", time.Time.Add),
	{"time_parse", "ss>s", "a time in a layout of Go, in the form of RFC 3339", func(a []any) (any, error) {
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
	onTimes("time_to_cron", "s>s", "the cron expression of a time", func(t []time.Time) any {
		return fmt.Sprintf("%d %d %d %d %d", t[0].Minute(), t[0].Hour(), t[0].Day(), t[0].Month(), t[0].Weekday())
	}),
	onTimes("time_utc", "s>s", "a time in UTC", func(t []time.Time) any { return t[0].UTC().Format(time.RFC3339) }),
	onTimes("time_diff", "ss>s", "the duration from the first time to the second one",
		func(t []time.Time) any { return t[1].Sub(t[0]).String() }),
	onTimes("time_before", "ss>b", "whether the first time is before the second one",
		func(t []time.Time) any { return t[0].Before(t[1]) }),
	onTimes("time_after", "ss>b", "whether the first time is after the second one",
		func(t []time.Time) any { return t[0].After(t[1]) }),
	onTimes("time_between", "sss>b", "whether the first time is between the two others",
		func(t []time.Time) any { return t[0].After(t[1]) && t[0].Before(t[2]) }),
	onDuration("time_truncate", "a time rounded down to a multiple of a duration", time.Time.Truncate),
}

func timeOf(arg any, layout string) (time.Time, error) {
	t, err := time.Parse(layout, arg.(string))
	if err != nil {
		return t, fmt.Errorf("an argument is not a time of the form %s", layout)
	}
	return t, nil
}

// onTimes returns a function whose arguments are times.
func onTimes(name string, signature Signature, doc string, of func(t []time.Time) any) function {
	return function{name, signature, doc, func(a []any) (any, error) {
		times := make([]time.Time, len(a))
		for i, arg := range a {
			var err error
			if times[i], err = timeOf(arg, time.RFC3339); err != nil {
				return nil, err
			}
		}
		return of(times), nil
	}}
}

// onDuration returns a function of a time and a duration.
func onDuration(name, doc string, of func(time.Time, time.Duration) time.Time) function {
	return function{name, "ss>s", doc, func(a []any) (any, error) {
		t, err := timeOf(a[0], time.RFC3339)
		if err != nil {
			return nil, err
		}
		d, err := time.ParseDuration(a[1].(string))
		if err != nil {
			return nil, errors.New("argument 2 is not a duration like 1h30m")
		}
		return of(t, d).Format(time.RFC3339), nil
	}}
}

// ask returns the result that the user gives for a call.
func (e *Env) ask(call, argument string) (any, error) {
	if value, ok := e.answer(call, argument); ok {
		return Input(value), nil
	}
	return nil, fmt.Errorf("the result is different in every run; give it among the values, as %q", call)
}

// asked returns a function whose result comes from the user.
func (e *Env) asked(name string, signature Signature, doc string) function {
	return function{name, signature, doc, func(a []any) (any, error) {
		argument := ""
		if len(a) > 0 {
			argument = a[0].(string)
		}
		return e.ask(name+"()", argument)
	}}
}

// given are the functions whose results come from the user.
func (e *Env) given() []function {
	return []function{
		e.asked("time_now", ">s", "the current time; preadmit needs its value from the user"),
		e.asked("time_now_utc", ">s", "the current time in UTC; preadmit needs its value from the user"),
		e.asked("random", "s>s", "a random text that matches a regular expression; preadmit needs its value from the user"),
		e.asked("is_external_url", "s>b", "whether the host of a URL is outside of private networks; needs a lookup of names"),
		{"time_since", "sss>s", "the duration from a time to another one, or to now", func(a []any) (any, error) {
			layout := cmp.Or(a[0].(string), time.RFC3339)
			since, err := timeOf(a[1], layout)
			if err != nil {
				return nil, err
			}
			until := a[2]
			if until == "" {
				if until, err = e.ask("time_now()", ""); err != nil {
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
