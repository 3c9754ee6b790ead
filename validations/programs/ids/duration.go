package main

import (
	"regexp"
	"strconv"
)

// durationParts are the parts of a length of time: years, months, days, hours, minutes and seconds.
var durationParts = regexp.MustCompile(
	`^([-+])?P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)

// durationRange is how many seconds a length of time has at least and at most, as months have 28 to 31 days.
func durationRange(text string) (float64, float64, bool) {
	parts := durationParts.FindStringSubmatch(text)
	if parts == nil {
		return 0, 0, false
	}
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	numbers := [7]float64{}
	for i := 2; i < len(parts); i++ {
		numbers[i-2], _ = strconv.ParseFloat("0"+parts[i], 64) // The expression has digits only.
	}
	months := numbers[0]*12 + numbers[1]
	rest := numbers[2]*day + numbers[3]*hour + numbers[4]*minute + numbers[5]
	const shortest, longest = 28, 31
	least, most := months*shortest*day+rest, months*longest*day+rest
	if parts[1] == "-" {
		return -most, -least, true
	}
	return least, most, true
}

// fitsDuration compares lengths of time. Two whose order depends on the calendar do not fit.
func (b bound) fitsDuration(text string) bool {
	least, most, known := durationRange(text)
	thanLeast, thanMost, _ := durationRange(b.than.text)
	if !known {
		return false
	}
	if len(b.sign) > 1 && least == thanLeast && most == thanMost {
		return true
	}
	if b.sign[0] == '>' {
		return least > thanMost
	}
	return most < thanLeast
}
