package users

import (
	"strconv"
	"strings"
)

func normalizeEmail(email string) string {
	return strings.ToLower(strings.TrimSpace(email))
}

func describeQuota(quota *int64) string {
	if quota == nil {
		return "unlimited runs a month"
	}
	return strconv.FormatInt(*quota, 10) + " runs a month"
}
